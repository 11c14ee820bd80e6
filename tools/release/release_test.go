package main

import (
	"archive/tar"
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestSemantic(t *testing.T) {
	for pep, want := range map[string]string{
		"1.2.3": "1.2.3", "1.2.3rc1": "1.2.3-rc.1", "1.2.3a2": "1.2.3-alpha.2", "0.6.0.dev0": "0.6.0-dev.0", "1.2.3b10": "1.2.3-beta.10",
		"1.2": "", "1.2.3.post1": "", "1.2.3+local": "", "v1.2.3": "", "": "",
	} {
		got, err := semantic(pep)
		if got != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %q, %v; want %q", pep, got, err, want)
		}
	}
	const commit = "0123456789abcdef0123"
	if got := withCommit("1.2.3-dev.0", commit); got != "1.2.3-dev.0.g0123456789ab" {
		t.Error(got)
	}
	if got := withCommit("1.2.3", commit); got != "1.2.3-g0123456789ab" {
		t.Error(got)
	}
}

// A directory is emptied only if a release made all that it holds.
func TestBeginRemovesNothingForeign(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "out")
	f, err := begin(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := f.write("a.tar.gz", []byte("a")); err != nil {
		t.Fatal(err)
	}
	if err := f.finish(); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(dir); err != nil {
		t.Fatal(err)
	}
	if left, _ := os.ReadDir(dir); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	foreign := filepath.Join(dir, "mine.txt")
	if err := os.WriteFile(foreign, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(dir); err == nil || !strings.Contains(err.Error(), "mine.txt") {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(foreign); err != nil {
		t.Error(err)
	}
}

// Two archives of the same files have the same bytes, and nothing of the user or the hour.
func TestTarRepeats(t *testing.T) {
	list := []entry{{name: "d/", mode: 0o755, dir: true}, {name: "d/f", mode: 0o644, data: []byte("text")}}
	at := time.Unix(1_700_000_000, 0)
	var a, b bytes.Buffer
	if err := writeTar(&a, list, at); err != nil {
		t.Fatal(err)
	}
	if err := writeTar(&b, list, at); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(a.Bytes(), b.Bytes()) {
		t.Error("they differ")
	}
	for r := tar.NewReader(&a); ; {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.Uid != 0 || h.Gid != 0 || h.Uname != "" || !h.ModTime.Equal(at) {
			t.Errorf("%+v", h)
		}
	}
}

func TestLicencesOf(t *testing.T) {
	got := licencesOf("=== module a/b v1 MIT AND BSD-3-Clause\n=== file LICENSE\ntext\n=== module std go BSD-3-Clause\n")
	if len(got) != 2 || got["a/b"] != "MIT AND BSD-3-Clause" || got["std"] != "BSD-3-Clause" {
		t.Errorf("%v", got)
	}
}

// The certificates of the image are read as a program reads them.
func TestCertificates(t *testing.T) {
	b, err := certificates()
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(b, []byte("-----BEGIN CERTIFICATE-----")); n < 50 {
		t.Errorf("got %d certificates", n)
	}
}
