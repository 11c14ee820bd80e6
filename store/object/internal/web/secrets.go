package web

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Seen remembers the secrets that were used, so that errors never show them. All methods can run
// at the same time.
type Seen struct {
	mu  sync.Mutex
	all []string
}

// remembered limits the memory of secrets, for credentials that change.
const remembered = 24

// Add remembers secrets. Empty ones are left out.
func (s *Seen) Add(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range secrets {
		if one != "" && !slices.Contains(s.all, one) {
			s.all = append(s.all, one)
		}
	}
	if n := len(s.all) - remembered; n > 0 {
		s.all = slices.Delete(s.all, 0, n)
	}
}

// All returns a copy of the secrets.
func (s *Seen) All() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.all)
}

// Hidden stands where a secret was.
const Hidden = "[hidden]"

// Rule finds what looks like a secret in a text.
type Rule struct {
	Match *regexp.Regexp
	With  string // the replacement, with ${1} for the first group
}

// userinfo matches the name and password of a URL.
var userinfo = regexp.MustCompile(`://[^/@\s]+@`)

// Mask hides the secrets, and what the rules find, brings the text to one line, and cuts it to a
// readable length.
func Mask(text string, secrets []string, rules []Rule) string {
	for _, s := range secrets {
		if len(s) >= 4 { // a shorter one would garble the text
			text = strings.ReplaceAll(text, s, Hidden)
		}
	}
	for _, r := range rules {
		text = r.Match.ReplaceAllString(text, r.With)
	}
	text = userinfo.ReplaceAllString(text, "://"+Hidden+"@")
	text = strings.Join(strings.Fields(text), " ")
	const most = 600
	if len(text) > most {
		text = strings.ToValidUTF8(text[:most], "") + "…"
	}
	return text
}
