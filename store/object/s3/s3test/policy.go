package s3test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Policy gives a bucket a policy, which says in JSON who may do what.
func (s *Server) Policy(t testing.TB, bucket, policy string) {
	t.Helper()
	r, err := http.NewRequest(http.MethodPut, s.Endpoint+"/"+bucket+"?policy=", strings.NewReader(policy))
	if err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256([]byte(policy))
	hash := hex.EncodeToString(sum[:])
	r.Header.Set("X-Amz-Content-Sha256", hash)
	keys := aws.Credentials{AccessKeyID: s.Access, SecretAccessKey: s.Secret}
	err = v4.NewSigner().SignHTTP(context.Background(), keys, r, hash, "s3", "us-east-1", time.Now())
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if answer.StatusCode >= 300 {
		text, _ := io.ReadAll(io.LimitReader(answer.Body, 1000))
		t.Fatalf("the policy of %s: %s: %s", bucket, answer.Status, text)
	}
}
