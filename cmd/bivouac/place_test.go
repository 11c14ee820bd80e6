package main

import (
	"strings"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

func TestPlaces(t *testing.T) {
	for _, c := range []struct{ at, below, joined, base, parent string }{
		{"run", "5", "run/5", "run", "."},
		{"/a/run/", "5/x", "/a/run/5/x", "run", "/a"},
		{"s3://b", "5", "s3://b/5", "b", "s3://b"},
		{"s3://b?region=x", "5", "s3://b/5?region=x", "b", "s3://b?region=x"},
		{"s3://b/run/?endpoint=http://h/", "5", "s3://b/run/5?endpoint=http://h/", "run", "s3://b?endpoint=http://h/"},
		{"s3://b/a%2Fb/c#1", "d", "s3://b/a%2Fb/c#1/d", "c#1", "s3://b/a%2Fb"},
	} {
		p := place(c.at)
		if p.join(c.below) != c.joined || p.base() != c.base || p.parent() != c.parent {
			t.Errorf("%s: %s, %s, %s", c.at, p.join(c.below), p.base(), p.parent())
		}
	}
	for _, c := range []struct {
		p, q   place
		inside bool
	}{
		{"run", "run", true}, {"run/5", "run", true}, {"run5", "run", false}, {"run", "run/5", false},
		{"s3://b/run/5", "s3://b/run", true}, {"s3://b/run", "s3://b", true}, {"s3://b/run5", "s3://b/run", false},
		{"s3://c/run", "s3://b", false}, {"s3://b/run", "run", false},
	} {
		if c.p.inside(c.q) != c.inside {
			t.Errorf("%s inside %s: want %v", c.p, c.q, c.inside)
		}
	}
}

// TestUnknownSchemes: the error says what this program opens, and repeats no secret.
func TestUnknownSchemes(t *testing.T) {
	for url, remedy := range map[string]string{
		"gs://me:hidden@b/x":                 "BIVOUAC_BINARY", // of a command in a wheel
		"az://a/c/x?sig=hidden":              "BIVOUAC_BINARY",
		"ftp://me:hidden@b/x":                "s3://bucket/name?endpoint=",
		"file:///x":                          "without file://",
		"abfss://c@a.dfs.net/x?token=hidden": "az://account/container",
	} {
		scheme, _, _ := strings.Cut(url, "://")
		text := unknownScheme(url, scheme).Error()
		if !strings.Contains(text, remedy) || strings.Contains(text, "hidden") || !strings.Contains(text, "s3://") {
			t.Errorf("%s: %s", url, text)
		}
	}
	for _, scheme := range schemes {
		if err := checkScheme(strings.ToUpper(scheme) + "://b/x"); err != nil {
			t.Error(err)
		}
	}
	if err := checkScheme("ftp://b/x"); errs.KindOf(err) != errs.Unsupported {
		t.Error(err)
	}
}
