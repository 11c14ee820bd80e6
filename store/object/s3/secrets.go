package s3

import (
	"context"
	"regexp"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/bivouac-ml/bivouac/store/object/internal/web"
)

// watched remembers the credentials that under returned, so that errors never show them.
type watched struct {
	under aws.CredentialsProvider
	seen  web.Seen

	mu   sync.Mutex
	from string
}

// Retrieve implements aws.CredentialsProvider.
func (w *watched) Retrieve(ctx context.Context) (aws.Credentials, error) {
	c, err := w.under.Retrieve(ctx)
	if err != nil {
		return c, err
	}
	w.seen.Add(c.AccessKeyID, c.SecretAccessKey, c.SessionToken)
	w.mu.Lock()
	w.from = c.Source
	w.mu.Unlock()
	return c, nil
}

// source says where the credentials come from: "EnvConfigCredentials".
func (w *watched) source() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return mask(w.from, w.seen.All())
}

// mask takes secrets out of a text of the server or of the library.
func (b *bucket) mask(text string) string { return mask(text, b.credentials.seen.All()) }

// rules find what looks like a secret of AWS.
var rules = []web.Rule{
	// access keys, and signatures
	{Match: regexp.MustCompile(`\b(?:(?:AKIA|ASIA|AROA|AIDA|ABIA|ACCA)[A-Z0-9]{12,}|[0-9a-f]{64})\b`), With: web.Hidden},
	// parameters and headers of a signed request, with their values
	{Match: regexp.MustCompile(`(?i)\b(x-amz-(?:signature|credential|security-token)|signature|credential|` +
		`authorization|aws_?secret_?access_?key|secret_?access_?key|session_?token|aws_?access_?key_?id)` +
		`(["']?\s*[=:]\s*)(AWS4-HMAC-SHA256\s+)?["']?[^\s,&"'<>]+`), With: "${1}${2}" + web.Hidden},
}

func mask(text string, secrets []string) string { return web.Mask(text, secrets, rules) }
