package main

import (
	"bytes"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/bivouac-ml/bivouac/store/object"
	"github.com/bivouac-ml/bivouac/store/object/s3"
	"github.com/bivouac-ml/bivouac/store/object/s3/s3test"
)

// TestS3Scripts runs scripts with a real server of S3. It is skipped where none can be built.
func TestS3Scripts(t *testing.T) {
	server := s3test.Start(t)
	server.Bucket(t, "bucket")
	server.Bucket(t, "public")
	server.Policy(t, "public", `{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
		"Action": ["s3:GetObject", "s3:ListBucket"],
		"Resource": ["arn:aws:s3:::public", "arn:aws:s3:::public/*"]}]}`)
	upload(t, server, map[string]string{"data/lines/a.jsonl": "{\"x\": 1}\n{\"x\": 2}\n{\"x\": 3}\n",
		"data/lines/b.jsonl": "{\"x\": 4}\n{\"x\": 5}\n", "data/data.yaml": "path: lines/*.jsonl\n"})
	scripts(t, "testdata/s3", map[string]string{
		"AWS_ACCESS_KEY_ID": server.Access, "AWS_SECRET_ACCESS_KEY": server.Secret, "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL": server.Endpoint, "AWS_EC2_METADATA_DISABLED": "true",
	})
}

// upload stores objects in the bucket named bucket.
func upload(t *testing.T, server *s3test.Server, objects map[string]string) {
	t.Helper()
	b, _, err := s3.Open(t.Context(), "s3://bucket?region=us-east-1&endpoint="+server.Endpoint,
		s3.Options{Credentials: server.Credentials()})
	if err != nil {
		t.Fatal(err)
	}
	for key, text := range objects {
		sum := crc32.Checksum([]byte(text), crc32.MakeTable(crc32.Castagnoli))
		if _, err := b.Put(t.Context(), key, []byte(text), sum, object.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
}

// sameTree compares two directories with all below: same A B.
func sameTree(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: same A B")
	}
	a, b := ts.MkAbs(args[0]), ts.MkAbs(args[1])
	contained := func(a, b string) {
		ts.Check(filepath.WalkDir(a, func(name string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || d.Name() == ".bivouac.lock" {
				return err
			}
			below, err := filepath.Rel(a, name)
			if err != nil {
				return err
			}
			want, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			got, err := os.ReadFile(filepath.Join(b, below))
			if err != nil {
				return err
			}
			if !bytes.Equal(got, want) {
				ts.Fatalf("%s differs", below)
			}
			return nil
		}))
	}
	contained(a, b)
	contained(b, a)
}
