package manifest

import (
	"errors"
	"hash/crc32"
	"testing"

	"github.com/bivouac-ml/bivouac/errs"
)

// An empty file that is not listed has the size and the checksum of no record.
func TestCheckFileUnlistedEmpty(t *testing.T) {
	m, err := Parse(sample().Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CheckFile("state/empty", nil); !errors.Is(err, errs.Corrupt) {
		t.Errorf("got %v", err)
	}
}

// The four bytes have the checksum of no bytes.
func TestCheckFileSameChecksumOtherSize(t *testing.T) {
	m, err := Parse((&Manifest{Files: []File{{Name: "empty"}}}).Append(nil))
	if err != nil {
		t.Fatal(err)
	}
	if err := m.CheckFile("empty", nil); err != nil {
		t.Error(err)
	}
	if err := m.CheckFile("empty", []byte{0xab, 0x9b, 0xe0, 0x9b}); !errors.Is(err, errs.Corrupt) {
		t.Errorf("got %v", err)
	}
}

// What is not a manifest at all is damage, not a version of the future.
func TestParseForeign(t *testing.T) {
	sealed := []byte("another text, sealed in the same way\n")
	sealed = append(appendCRC(append(sealed, "end "...), crc32.Checksum(sealed, castagnoli)), '\n')
	for _, text := range []string{"", "x", "bivouac.manifes", "another text\nend 00000000\n", string(sealed)} {
		if _, err := Parse([]byte(text)); !errors.Is(err, errs.Corrupt) {
			t.Errorf("%q: %v", text, err)
		}
	}
}
