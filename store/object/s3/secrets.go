package s3

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// watched remembers the credentials that under returned, so that errors never show them.
type watched struct {
	under aws.CredentialsProvider

	mu   sync.Mutex
	seen []string
	from string
}

// rememberedSecrets limits the memory of secrets. Credentials that change have three each.
const rememberedSecrets = 24

// Retrieve implements aws.CredentialsProvider.
func (w *watched) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := w.under.Retrieve(ctx)
	if err != nil {
		return c, err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.from = c.Source
	for _, s := range []string{c.AccessKeyID, c.SecretAccessKey, c.SessionToken} {
		if s != "" && !slices.Contains(w.seen, s) {
			w.seen = append(w.seen, s)
		}
	}
	if n := len(w.seen) - rememberedSecrets; n > 0 {
		w.seen = slices.Delete(w.seen, 0, n)
	}
	return c, nil
}

// source says where the credentials come from: "EnvConfigCredentials".
func (w *watched) source() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mask(w.from, w.seen)
}

func (w *watched) secrets() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.seen)
}

// mask takes secrets out of a text of the server or of the library.
func (b *bucket) mask(text string) string { return mask(text, b.credentials.secrets()) }

var (
	// keyID matches access keys of AWS, and signatures.
	keyID = regexp.MustCompile(`\b(?:(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}|[0-9a-f]{64})\b`)
	// signed matches parameters and headers of a signed request, with their values.
	signed = regexp.MustCompile(`(?i)\b(x-amz-(?:signature|credential|security-token)|signature|credential|` +
		`authorization|aws_?secret_?access_?key|secret_?access_?key|session_?token|aws_?access_?key_?id)` +
		`(["']?\s*[=:]\s*)(AWS4-HMAC-SHA256\s+)?["']?[^\s,&"'<>]+`)
	// userinfo matches the name and password of a URL.
	userinfo = regexp.MustCompile(`://[^/@\s]+@`)
)

const hidden = "[hidden]"

// mask hides the secrets, and what looks like one, and cuts the text to a readable length.
func mask(text string, secrets []string) string {
	for _, s := range secrets {
		text = strings.ReplaceAll(text, s, hidden)
	}
	text = keyID.ReplaceAllString(text, hidden)
	text = signed.ReplaceAllString(text, "${1}${2}"+hidden)
	text = userinfo.ReplaceAllString(text, "://"+hidden+"@")
	if len(text) > 600 {
		text = strings.ToValidUTF8(text[:600], "") + "…"
	}
	return text
}
