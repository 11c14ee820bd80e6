package manifest

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/bivouac-ml/bivouac/errs"
)

// A signed document has one more line, after its end record:
//
//	signed <crc> <signature>
//
// The signature is an Ed25519 signature in standard base64, 88 characters, over signedText followed
// by the SHA-256 of all bytes before the line. The checksum covers the 88 characters, so that a
// reader without a key also notices damage to the signature.

// signedText ensures that a signature of a manifest is never valid for another kind of document.
const signedText = "bivouac.manifest signature 1\n"

var signedWord = []byte("signed ")

// signedLen is the length of the line.
const signedLen = len("signed 01234567 ") + 88 + len("\n")

// CheckSigning returns errs.Invalid unless key is a private key or nil. nil means no signature.
func CheckSigning(key ed25519.PrivateKey) error {
	if key != nil && len(key) != ed25519.PrivateKeySize {
		return keySize(ed25519.PrivateKeySize, len(key))
	}
	return nil
}

func keySize(want, got int) error {
	return &errs.Error{Kind: errs.Invalid, Op: "manifest", Subject: "key",
		Want: "an Ed25519 key of " + strconv.Itoa(want) + " bytes", Got: strconv.Itoa(got)}
}

func message(doc []byte) []byte {
	sum := sha256.Sum256(doc)
	return append([]byte(signedText), sum[:]...)
}

// Sign appends the line that signs a document that Append made. A nil key appends nothing; a key
// that CheckSigning refuses panics.
func Sign(doc []byte, key ed25519.PrivateKey) []byte {
	if key == nil {
		return doc
	}
	signature := []byte(base64.StdEncoding.EncodeToString(ed25519.Sign(key, message(doc))))
	doc = append(appendCRC(append(doc, signedWord...), checksum(signature)), ' ')
	return append(append(doc, signature...), '\n')
}

// cutSignature removes the line of the signature from a document; the signature is nil if the
// document is not signed.
func cutSignature(b []byte) (doc, signature []byte, err error) {
	at := len(b) - signedLen
	if at < 1 || b[at-1] != '\n' || !bytes.HasPrefix(b[at:], signedWord) {
		return b, nil, nil
	}
	doc, line := b[:at], b[at+len(signedWord):len(b)-1]
	text := line[len("01234567 "):]
	var want [9]byte
	if !bytes.Equal(line[:len(want)], append(appendCRC(want[:0], checksum(text)), ' ')) || b[len(b)-1] != '\n' {
		return nil, nil, corrupt("the checksum of the signature does not match")
	}
	signature, err = base64.StdEncoding.Strict().DecodeString(string(text))
	if err != nil {
		return nil, nil, corrupt("signature: %v", err)
	}
	return doc, signature, nil
}

// labelWord begins the record of the label.
const labelWord = "label "

func (m *Manifest) parseLabel(text string) error {
	label, rest, err := cutQuoted(text)
	if err != nil || rest != "" || label == "" || m.Label != "" {
		return fmt.Errorf("label %.60q", text)
	}
	m.Label = label
	return nil
}

// CheckLabel returns errs.Corrupt unless the document was signed with the label.
func (m *Manifest) CheckLabel(label string) error {
	if m.Label == label {
		return nil
	}
	e := &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: Name,
		Want:   "a checkpoint signed as " + strconv.Quote(label),
		Got:    "no label",
		Remedy: "another checkpoint of the same signer lies here: do not trust it"}
	if m.Label != "" {
		e.Got = strconv.Quote(m.Label)
	}
	return e
}

// CheckSignature returns errs.Corrupt unless the owner of the key signed the document. A key of the
// wrong size is errs.Invalid. A manifest that was not parsed has no signature.
func (m *Manifest) CheckSignature(key ed25519.PublicKey) error {
	if len(key) != ed25519.PublicKeySize {
		return keySize(ed25519.PublicKeySize, len(key))
	}
	refused := &errs.Error{Kind: errs.Corrupt, Op: "manifest", Subject: Name,
		Want: "a signature by the key " + base64.StdEncoding.EncodeToString(key)}
	switch {
	case m.signature == nil:
		refused.Got = "no signature"
		refused.Remedy = "save with SaveOptions.Signing, or load without a key"
	case !ed25519.Verify(key, m.signed, m.signature):
		refused.Got = "a signature that this key did not make for these bytes"
		refused.Remedy = "the checkpoint was changed, or signed with another key: do not trust it"
	case !m.Digested():
		refused.Want = "a signature over the bytes of all files"
		refused.Got = "a signature of an earlier version, over checksums only, which a forger can match with other bytes"
		refused.Remedy = "load without a key if you trust the checkpoint, and save it again with SaveOptions.Signing"
	default:
		return nil
	}
	return refused
}

// SignatureLine returns the line of the signature of a damaged document. It corrects one flipped
// bit in the line, which the checksum of the line shows.
func SignatureLine(raw []byte) (line []byte, ok bool) {
	if at := bytes.LastIndex(raw, append([]byte("\n"), signedWord...)); at >= 0 && len(raw)-at-1 >= signedLen {
		if line = raw[at+1 : at+1+signedLen]; isSignature(line) {
			return line, true
		}
	}
	if len(raw) < signedLen {
		return nil, false
	}
	line = bytes.Clone(raw[len(raw)-signedLen:])
	for i := range 8 * signedLen {
		line[i/8] ^= 1 << (i % 8)
		if isSignature(line) {
			return line, true
		}
		line[i/8] ^= 1 << (i % 8)
	}
	return nil, false
}

// isSignature reports whether b is a whole and undamaged line of a signature.
func isSignature(b []byte) bool {
	doc, signature, err := cutSignature(append([]byte("\n"), b...))
	return err == nil && signature != nil && len(doc) == 1
}
