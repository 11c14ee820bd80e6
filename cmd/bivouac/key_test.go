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
