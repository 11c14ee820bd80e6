package main

import (
	"bytes"
	"crypto/ed25519"
	"encoding/base64"
	"os"
	"path/filepath"
	"testing"

	"github.com/bivouac-ml/bivouac/checkpoint"
	"github.com/bivouac-ml/bivouac/checkpoint/options"
	"github.com/bivouac-ml/bivouac/errs"
)

// --key accepts only checkpoints that the key signed.
func TestVerifyKey(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "c")
	signer := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{2}, ed25519.SeedSize))
	if err := checkpoint.Save(t.Context(), path, map[string]any{"w": []float32{1}}, &checkpoint.SaveOptions{Options: options.Options{Bivouac: options.Bivouac{Signing: signer}}}); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		content string
		want    errs.Kind
	}{
		"signer":   {base64.StdEncoding.EncodeToString(signer.Public().(ed25519.PublicKey)), errs.Other},
		"stranger": {base64.StdEncoding.EncodeToString(stranger.Public().(ed25519.PublicKey)), errs.Corrupt},
		"none":     {"no key", errs.Invalid},
	} {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		g := &global{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, plain: true}
		err := runVerify(t.Context(), []string{path}, VerifyOptions{Step: anyStep, trust: trust{file}}, g)
		if errs.KindOf(err) != c.want || c.want == errs.Other && err != nil {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
