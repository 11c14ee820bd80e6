package main

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

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
	scripts(t, "testdata/s3", map[string]string{
		"AWS_ACCESS_KEY_ID": server.Access, "AWS_SECRET_ACCESS_KEY": server.Secret, "AWS_REGION": "us-east-1",
		"AWS_ENDPOINT_URL": server.Endpoint, "AWS_EC2_METADATA_DISABLED": "true",
	})
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
