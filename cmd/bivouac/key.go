package main

import (
	"bytes"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"os"

	"github.com/bivouac-ml/bivouac/errs"
)

// readSigningKey reads the private Ed25519 key in a file, PKCS #8 in PEM.
func readSigningKey(name string) (ed25519.PrivateKey, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, unopened("sign", name, err)
	}
	if block, _ := pem.Decode(b); block != nil {
		any, err := x509.ParsePKCS8PrivateKey(block.Bytes)
		if key, ok := any.(ed25519.PrivateKey); err == nil && ok {
			return key, nil
		}
	}
	return nil, &errs.Error{Kind: errs.Invalid, Op: "sign", Subject: name, Want: "a private Ed25519 key, PKCS #8 in PEM", Got: "something else",
		Remedy: "make one with: openssl genpkey -algorithm ed25519 -out " + name}
}

// readKey reads the public Ed25519 key in a file.
func readKey(name string) (ed25519.PublicKey, error) {
	b, err := os.ReadFile(name)
	if err != nil {
		return nil, unopened("key", name, err)
	}
	key := parseKey(b)
	if key == nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "key", Subject: name,
			Want: "a public Ed25519 key: PEM as openssl writes it, a line as ssh-keygen writes it, or its 32 bytes in base64", Got: "something else"}
	}
	return key, nil
}

// parseKey reads a key in any of the three forms. It returns nil for other input.
func parseKey(b []byte) ed25519.PublicKey {
	if block, _ := pem.Decode(b); block != nil {
		any, err := x509.ParsePKIXPublicKey(block.Bytes)
		if key, ok := any.(ed25519.PublicKey); err == nil && ok {
			return key
		}
		return nil
	}
	const kind = "ssh-ed25519"
	fields := bytes.Fields(b)
	switch {
	case len(fields) == 1:
		return decodeKey(fields[0], nil)
	case len(fields) > 1 && string(fields[0]) == kind:
		head := append(binary.BigEndian.AppendUint32(nil, uint32(len(kind))), kind...)
		return decodeKey(fields[1], binary.BigEndian.AppendUint32(head, ed25519.PublicKeySize))
	}
	return nil
}

// decodeKey decodes the base64 of head followed by the key.
func decodeKey(text, head []byte) ed25519.PublicKey {
	b, err := base64.StdEncoding.DecodeString(string(text))
	if err != nil || !bytes.HasPrefix(b, head) || len(b) != len(head)+ed25519.PublicKeySize {
		return nil
	}
	return b[len(head):]
}
