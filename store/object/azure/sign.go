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

	"github.com/bivouac-ml/bivouac/store/object/internal/web"
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

// rules find what looks like a secret of Azure, and the lines that azidentity draws.
var rules = []web.Rule{
	// parameters and headers of a request, with their values
	{Match: regexp.MustCompile(`(?i)\b(sig|signature|authorization|accountkey|account_?key|sharedaccesssignature|sas|` +
		`client_?secret|client_?assertion|password|access_?token|refresh_?token)` +
		`(["']?\s*[=:]\s*)((?:Bearer|SharedKey)\s+)?["']?[^\s,&;"'<>]+`), With: "${1}${2}" + web.Hidden},
	// values of the header Authorization
	{Match: regexp.MustCompile(`(?i)\b(Bearer|SharedKey|SharedKeyLite)\s+[^\s,;"'<>]+`), With: "${1} " + web.Hidden},
	// a SHA-256 and an account key in base64, as they are and in a URL
	{Match: regexp.MustCompile(`[A-Za-z0-9+/]{43}=|[A-Za-z0-9+/]{86}==|` +
		`(?:[A-Za-z0-9]|%2[BbFf]){43,88}(?:%3[Dd]){1,2}`), With: web.Hidden},
	// tokens of Entra ID
	{Match: regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]*){0,4}`), With: web.Hidden},
	{Match: regexp.MustCompile(`-{8,}`), With: " "},
}

func mask(text string, secrets []string) string { return web.Mask(text, secrets, rules) }
