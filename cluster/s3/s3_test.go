package s3_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bivouac-ml/bivouac/cluster"
	"github.com/bivouac-ml/bivouac/cluster/clustertest"
	_ "github.com/bivouac-ml/bivouac/cluster/s3"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
)

// A real server keeps the laws.
func TestS3(t *testing.T) {
	server := s3test.Start(t)
	url := environment(t, server)
	var runs atomic.Int64
	suite := clustertest.Suite{Lease: 3 * time.Second, Barriers: 30}
	suite.Open = func(t *testing.T) func() cluster.Board {
		run := strings.Replace(url, "?", fmt.Sprintf("/run-%d/.cluster?", runs.Add(1)), 1)
		return func() cluster.Board {
			b, err := cluster.OpenBoard(context.Background(), run)
			if err != nil {
				t.Fatal(err)
			}
			return b
		}
	}
	clustertest.Run(t, suite)
}

func environment(t testing.TB, server *s3test.Server) string {
	url := server.Bucket(t, "cluster")
	t.Setenv("AWS_ACCESS_KEY_ID", server.Access)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.Secret)
	t.Setenv("AWS_REGION", "us-east-1")
	return url
}

// What is wrong with the bucket is said by Open, and no secret is.
func TestWrongBucket(t *testing.T) {
	server := s3test.Start(t)
	url := environment(t, server)
	for _, c := range []struct {
		url, secret string
		kind        errs.Kind
	}{
		{strings.Replace(url, "cluster", "no-such-bucket", 1), server.Secret, errs.NotFound},
		{url, "wrong/secret", errs.Permission},
		{url + "&nonsense=1", server.Secret, errs.Invalid},
	} {
		t.Setenv("AWS_SECRET_ACCESS_KEY", c.secret)
		_, err := cluster.Open(t.Context(), c.url, cluster.Options{})
		if errs.KindOf(err) != c.kind || strings.Contains(err.Error(), c.secret) {
			t.Errorf("%s: want %v, got %v", c.url, c.kind, err)
		}
	}
}

func BenchmarkBarrier(b *testing.B) {
	server := s3test.Start(b)
	url := strings.Replace(environment(b, server), "?", "/bench?", 1)
	clustertest.Bench(b, func() cluster.Board {
		board, err := cluster.OpenBoard(context.Background(), url)
		if err != nil {
			b.Fatal(err)
		}
		return board
	})
}
