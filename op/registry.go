package op

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/bivouac-ml/bivouac/errs"
)

// The registry is filled by init functions of the operators' packages and may
// be extended by programs before they build graphs.
var registry struct {
	sync.RWMutex
	byName map[string]*Schema
}

// Register makes an operator known under its full name. It panics when the
// schema is malformed or the name is taken: both are mistakes of the program
// that show at its start, whatever the input.
func Register(s Schema) {
	if err := s.Validate(); err != nil {
		panic(err)
	}
	registry.Lock()
	defer registry.Unlock()
	name := s.FullName()
	if _, taken := registry.byName[name]; taken {
		panic(&errs.Error{Kind: errs.Exists, Op: "op.Register", Subject: name})
	}
	if registry.byName == nil {
		registry.byName = map[string]*Schema{}
	}
	registry.byName[name] = &s
}

// Lookup returns the operator called name ("decoders.image"). The error of an
// unknown name proposes the nearest known one.
func Lookup(name string) (*Schema, error) {
	registry.RLock()
	defer registry.RUnlock()
	if s, ok := registry.byName[name]; ok {
		return s, nil
	}
	names := make([]string, 0, len(registry.byName))
	for n := range registry.byName {
		names = append(names, n)
	}
	return nil, &errs.Error{Kind: errs.NotFound, Op: "operator", Subject: name, Remedy: Nearest(name, names)}
}

// Schemas returns all registered operators, sorted by full name.
func Schemas() []*Schema {
	registry.RLock()
	defer registry.RUnlock()
	all := make([]*Schema, 0, len(registry.byName))
	for _, s := range registry.byName {
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b *Schema) int { return cmp.Compare(a.FullName(), b.FullName()) })
	return all
}

// Nearest returns `did you mean "x"?` for the one of names that is most like
// name, or "" when none is like it.
func Nearest(name string, names []string) string {
	slices.Sort(names)
	best, least := "", 1+len(name)/3
	for _, n := range names {
		d := distance(name, n)
		if strings.HasSuffix(n, "."+name) {
			d = 0
		}
		if d < least || d == least && best == "" {
			best, least = n, d
		}
	}
	if best == "" {
		return ""
	}
	return `did you mean "` + best + `"?`
}

// distance is the Levenshtein distance of two short names.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
