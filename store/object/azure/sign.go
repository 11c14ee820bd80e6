package azure

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// sharedKey signs requests with a key of the account.
type sharedKey struct {
	account string
	key     []byte
	text    string // the key in base64, which no error may show
	source  string
}

func (k *sharedKey) from() string      { return k.source }
func (k *sharedKey) secrets() []string { return []string{k.text} }
func (k *sharedKey) refused()          {}

func (k *sharedKey) authorize(_ context.Context, r *http.Request, now time.Time) error {
	r.Header.Set("X-Ms-Date", now.UTC().Format(http.TimeFormat))
	h := hmac.New(sha256.New, k.key)
	h.Write([]byte(k.toSign(r)))
	r.Header.Set("Authorization", "SharedKey "+k.account+":"+base64.StdEncoding.EncodeToString(h.Sum(nil)))
	return nil
}

// toSign is the text that is signed: the method, headers in a fixed order, the headers of Azure in
// ascending order, and the resource with its parameters.
func (k *sharedKey) toSign(r *http.Request) string {
	length := ""
	if r.ContentLength > 0 {
		length = strconv.FormatInt(r.ContentLength, 10)
	}
	lines := []string{r.Method, r.Header.Get("Content-Encoding"), r.Header.Get("Content-Language"), length}
	for _, name := range []string{
		"Content-Md5", "Content-Type", "Date", "If-Modified-Since", "If-Match", "If-None-Match",
		"If-Unmodified-Since", "Range",
	} {
		lines = append(lines, r.Header.Get(name))
	}
	own := http.Header{}
	for name, values := range r.Header {
		if strings.HasPrefix(strings.ToLower(name), "x-ms-") {
			own[name] = values
		}
	}
	lines = append(lines, sorted(own)...)
	lines = append(lines, "/"+k.account+r.URL.EscapedPath())
	return strings.Join(append(lines, sorted(r.URL.Query())...), "\n")
}

// sorted returns a line for each name, in ascending order of the names in lower case.
func sorted(all map[string][]string) []string {
	lower := map[string]string{}
	for name, values := range all {
		values = slices.Sorted(slices.Values(values))
		lower[strings.ToLower(name)] = strings.Join(values, ",")
	}
	lines := make([]string, 0, len(lower))
	for _, name := range slices.Sorted(maps.Keys(lower)) {
		lines = append(lines, name+":"+lower[name])
	}
	return lines
}

// mask takes secrets out of a text of the server or of the library.
func (b *bucket) mask(text string) string { return mask(text, b.credential.secrets()) }

var (
	// signatures matches a SHA-256 and an account key in base64, as they are and in a URL.
	signatures = regexp.MustCompile(`[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==|` +
		`(?:[A-Za-z0-9]|%2[BbFf]){43,88}(?:%3[Dd]){1,2}`)
	// tokens matches tokens of Entra ID.
	tokens = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,4}`)
	// signed matches parameters and headers of a request, with their values.
	signed = regexp.MustCompile(`(?i)\b(sig|signature|authorization|accountkey|account_?key|sharedaccesssignature|sas|` +
		`client_?secret|client_?assertion|password|access_?token|refresh_?token)` +
		`(["']?\s*[=:]\s*)((?:Bearer|SharedKey)\s+)?["']?[^\s,&;"'<>]+`)
	// schemes matches the values of the header Authorization.
	schemes = regexp.MustCompile(`(?i)\b(Bearer|SharedKey|SharedKeyLite)\s+[^\s,;"'<>]+`)
	// userinfo matches the name and password of a URL.
	userinfo = regexp.MustCompile(`://[^/@\s]+@`)
	// rules matches the lines that azidentity draws.
	rules = regexp.MustCompile(`-{8,}`)
)

const hidden = "[hidden]"

// mask hides the secrets, and what looks like one, and cuts the text to a readable length.
func mask(text string, secrets []string) string {
	for _, s := range secrets {
		if len(s) >= 4 {
			text = strings.ReplaceAll(text, s, hidden)
		}
	}
	text = signed.ReplaceAllString(text, "${1}${2}"+hidden)
	text = schemes.ReplaceAllString(text, "${1} "+hidden)
	text = signatures.ReplaceAllString(text, hidden)
	text = tokens.ReplaceAllString(text, hidden)
	text = userinfo.ReplaceAllString(text, "://"+hidden+"@")
	text = strings.Join(strings.Fields(rules.ReplaceAllString(text, " ")), " ")
	if len(text) > 600 {
		text = strings.ToValidUTF8(text[:600], "") + "…"
	}
	return text
}
