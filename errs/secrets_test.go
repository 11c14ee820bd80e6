package errs_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestURLsAreShownWithoutSecrets(t *testing.T) {
	for url, want := range map[string]string{
		"":                   "",
		"/runs/7?token=open": "/runs/7?token=open", // a path of the disk
		"s3://bucket/runs/7": "s3://bucket/runs/7",
		"s3://b/user@host/7": "s3://b/user@host/7",
		"step 5 of s3://b/r?endpoint=http://127.0.0.1:7070": "step 5 of s3://b/r?endpoint=http://127.0.0.1:7070",
		"s3://b?region=eu-west-1&path_style=true":           "s3://b?region=eu-west-1&path_style=true",
		"s3://AKID:hidden@b/r":                              "s3://…@b/r",
		"s3://AKID:hid/den@b/r":                             "s3://…@b/r",
		"s3://hidden@b":                                     "s3://…@b",
		"s3://b/r?secret_key=hidden&region=x":               "s3://b/r?secret_key=…&region=x",
		"az://account/c/r?sv=1&sig=hidden":                  "az://account/c/r?sv=…&sig=…",
		"s3://b/r?hidden":                                   "s3://b/r?…",
		"s3://b/r?endpoint=http://me:hidden@h:1":            "s3://b/r?endpoint=…",
		"ftp://me:hidden@host/x?a=hidden":                   "ftp://…@host/x?a=…",
	} {
		if got := errs.WithoutSecrets(url); got != want {
			t.Errorf("%s: %s, want %s", url, got, want)
		}
		inner := &errs.Error{Kind: errs.Permission, Op: "in", Subject: url}
		text := errs.Wrap("out", url, errors.Join(inner)).Error()
		if strings.Contains(text, "hid") || want != "" && !strings.Contains(text, want) {
			t.Errorf("%s: %s", url, text)
		}
	}
}
