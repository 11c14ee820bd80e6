package manifest

import (
	"bytes"
	"crypto/ed25519"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// key makes the key of a seed that is n everywhere.
func key(n byte) (ed25519.PublicKey, ed25519.PrivateKey) {
	private := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{n}, ed25519.SeedSize))
	return private.Public().(ed25519.PublicKey), private
}

func signedDocument(private ed25519.PrivateKey) []byte {
	m := &Manifest{Files: []File{{Name: "a", Size: 3, CRC: 1, Runs: Runs([]byte("abc"), 0)}},
		Leaves: []Leaf{{Item: "state", Param: "w", Size: 8, CRC: 2}}}
	return Sign(m.Append(nil), private)
}

func TestSign(t *testing.T) {
	public, private := key(1)
	m, err := Parse(signedDocument(private))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CheckSignature(public); err != nil {
		t.Error(err)
	}
	if _, ok := m.File("a"); !ok || len(m.Leaves) != 1 {
		t.Errorf("records of a signed document: %v %v", m.Files, m.Leaves)
	}
	other, _ := key(2)
	if err := m.CheckSignature(other); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("another key: %v, want Corrupt", err)
	}
	if err := m.CheckSignature(public[:5]); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a short key: %v, want Invalid", err)
	}
	if err := CheckSigning(private[:5]); errs.KindOf(err) != errs.Invalid {
		t.Errorf("a short private key: %v, want Invalid", err)
	}
	plain, err := Parse(signedDocument(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := plain.CheckSignature(public); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("no signature: %v, want Corrupt", err)
	}
}

// Whatever byte of a signed document changes, and wherever it ends, it is
// refused: by those who have no key too, unless the whole line is gone.
func TestSignatureTampering(t *testing.T) {
	public, private := key(1)
	doc := signedDocument(private)
	for i := range doc {
		for bit := range 8 {
			b := bytes.Clone(doc)
			b[i] ^= 1 << bit
			if m, err := Parse(b); err == nil {
				t.Errorf("bit %d of byte %d: parsed; signature: %v", bit, i, m.CheckSignature(public))
			}
		}
	}
	for n := range len(doc) {
		if m, err := Parse(doc[:n]); err == nil && m.CheckSignature(public) == nil {
			t.Errorf("cut to %d bytes: passed", n)
		}
	}
	// A forger repairs the checksums.
	forged := bytes.Replace(doc[:len(doc)-signedLen-len("end 01234567\n")], []byte(" 8 "), []byte(" 9 "), 1)
	forged = append(appendCRC(append(bytes.Clone(forged), "end "...), checksum(forged)), '\n')
	m, err := Parse(append(forged, doc[len(doc)-signedLen:]...))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CheckSignature(public); errs.KindOf(err) != errs.Corrupt {
		t.Errorf("forged: %v, want Corrupt", err)
	}
}
