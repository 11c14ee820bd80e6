package mds

import (
	"crypto/md5"
	"crypto/sha1"
	"crypto/sha256"
	"crypto/sha3"
	"crypto/sha512"
	"encoding/hex"
	"fmt"
	"hash"
	"maps"
	"slices"
	"strings"

	"github.com/cespare/xxhash/v2"
	"github.com/zeebo/xxh3"
	"golang.org/x/crypto/blake2b"
	"golang.org/x/crypto/blake2s"

	"github.com/bivouac-ml/bivouac/errs"
)

// algorithms are the hashes that index.json can have, of Python's hashlib and of xxhash.
var algorithms = map[string]func() hash.Hash{
	"md5": md5.New, "sha1": sha1.New,
	"sha224": sha256.New224, "sha256": sha256.New, "sha384": sha512.New384, "sha512": sha512.New,
	"sha3_224": func() hash.Hash { return sha3.New224() }, "sha3_256": func() hash.Hash { return sha3.New256() },
	"sha3_384": func() hash.Hash { return sha3.New384() }, "sha3_512": func() hash.Hash { return sha3.New512() },
	"blake2b": func() hash.Hash { h, _ := blake2b.New512(nil); return h }, // cannot fail without a key
	"blake2s": func() hash.Hash { h, _ := blake2s.New256(nil); return h }, // likewise
	"xxh32":   func() hash.Hash { return new32() }, "xxh64": func() hash.Hash { return xxhash.New() },
	"xxh3_64": func() hash.Hash { return xxh3.New() }, "xxh3_128": func() hash.Hash { return xxh3.New128() },
	"xxh128": func() hash.Hash { return xxh3.New128() },
}

// Hashes returns the names of the hashes that shards can have.
func Hashes() []string { return slices.Sorted(maps.Keys(algorithms)) }

// NewHash returns the hash of a name, or nil.
func NewHash(name string) hash.Hash {
	if f, ok := algorithms[name]; ok {
		return f()
	}
	return nil
}

// Verifier checks the hashes of a file while it is read.
type Verifier struct {
	file   *File
	names  []string
	hashes []hash.Hash
}

// Verify returns a Verifier of the hashes that the index has for a file.
func (f *File) Verify() *Verifier {
	v := &Verifier{file: f, names: slices.Sorted(maps.Keys(f.Hashes))}
	for _, name := range v.names {
		v.hashes = append(v.hashes, NewHash(name)) // ParseIndex knows them all
	}
	return v
}

// Write adds the next bytes of the file. It cannot fail.
func (v *Verifier) Write(p []byte) (int, error) {
	for _, h := range v.hashes {
		h.Write(p) //nolint:errcheck // a hash cannot fail
	}
	return len(p), nil
}

// Close fails with errs.Corrupt if a hash of the bytes differs from the index.
func (v *Verifier) Close() error {
	for i, name := range v.names {
		if got, want := hex.EncodeToString(v.hashes[i].Sum(nil)), strings.ToLower(v.file.Hashes[name]); got != want {
			return &errs.Error{Kind: errs.Corrupt, Subject: v.file.Name,
				Want: fmt.Sprintf("%s %s, as index.json says", name, want), Got: got,
				Remedy: "the shard was changed or damaged; copy it again"}
		}
	}
	return nil
}
