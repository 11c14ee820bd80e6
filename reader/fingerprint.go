package reader

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
)

// fingerprint hashes names, sizes and labels in order. Contents are not read:
// that would cost as much as an epoch.
func (f *files) fingerprint() string {
	h := sha256.New()
	var b []byte
	for i := range f.ends {
		name := f.path(int64(i))
		b = binary.AppendUvarint(b[:0], uint64(len(name)))
		b = append(b, name...)
		b = binary.AppendUvarint(b, uint64(f.sizes[i]))
		b = binary.AppendVarint(b, int64(f.labels[i]))
		h.Write(b)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
