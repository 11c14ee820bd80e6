package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/pem"
	"testing"

	"github.com/bivouac-ml/bivouac/tensor"
)

func TestParseKey(t *testing.T) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{1}, ed25519.SeedSize))
	public := private.Public().(ed25519.PublicKey)
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(key any) string {
		der, err := x509.MarshalPKIXPublicKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return string(pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}))
	}
	plain := base64.StdEncoding.EncodeToString(public)
	wire := base64.StdEncoding.EncodeToString(append([]byte("\x00\x00\x00\x0bssh-ed25519\x00\x00\x00\x20"), public...))
	for _, c := range []struct {
		name, text string
		ok         bool
	}{
		{"pem", encode(public), true},
		{"base64", plain + "\n", true},
		{"ssh", "ssh-ed25519 " + wire + " me@host\n", true},
		{"rsa", encode(&other.PublicKey), false},
		{"ssh of another kind", "ssh-rsa " + wire, false},
		{"ssh cut short", "ssh-ed25519 " + wire[:40], false},
		{"short", plain[:40], false},
		{"words", "no key at all", false},
		{"empty", "", false},
	} {
		key := parseKey([]byte(c.text))
		if c.ok != key.Equal(public) {
			t.Errorf("%s: %x", c.name, key)
		}
	}
}

// A key in any form is a key in the shortest one.
func FuzzParseKey(f *testing.F) {
	plain := base64.StdEncoding.EncodeToString(bytes.Repeat([]byte{1}, ed25519.PublicKeySize))
	f.Add([]byte(plain))
	f.Add([]byte("ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEB me@here"))
	f.Add([]byte("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEAAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\n-----END PUBLIC KEY-----\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		key := parseKey(b)
		if key == nil {
			return
		}
		if again := parseKey([]byte(base64.StdEncoding.EncodeToString(key))); len(key) != ed25519.PublicKeySize || !key.Equal(again) {
			t.Fatalf("%x, then %x", key, again)
		}
	})
}

// A part lies inside of the array, whatever is asked for.
func FuzzParseSlice(f *testing.F) {
	for _, s := range []string{"", "1:3,:,-1", "0", ":", "-1:", "5:2", "9223372036854775807:", "-9223372036854775808", ",", " 1 , 2 "} {
		f.Add(s, 4, 3)
	}
	f.Fuzz(func(t *testing.T, text string, rows, columns int) {
		shape := tensor.Shape{max(0, rows), max(0, columns)}
		p, err := parseSlice(text, shape)
		if err != nil {
			return
		}
		for k, n := range shape {
			if p.origin[k] < 0 || p.extent[k] < 0 || p.origin[k] > n || p.extent[k] > n-p.origin[k] {
				t.Fatalf("%q of %v: from %v on %v", text, shape, p.origin, p.extent)
			}
		}
		if len(p.shape()) > len(shape) {
			t.Fatalf("%q of %v: %v", text, shape, p.shape())
		}
	})
}
