package local

import (
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"hash/crc32"
	"path"
	"sync"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// registry is the set of staging names that this process uses, over all Stores. CleanStaging leaves
// them alone. If power loss might bring back the old name of an object, its staging name stays in
// the registry, in doubt, until Settle.
type registry struct {
	mu    sync.Mutex
	names map[place]use
}

// use says why a staging name is in the registry.
type use uint8

const (
	atWork use = iota + 1
	inDoubt
)

type place struct {
	fs   vfs.FS
	path string
}

var live = registry{names: map[place]use{}}

// stage returns a new staging name for final, and adds it to the registry.
func (s *Store) stage(final string) (name string) {
	var nonce [(nonceDigits - sealDigits) / 2]byte
	rand.Read(nonce[:]) //nolint:errcheck // documented never to fail
	name = store.StagingName(final, sealNonce(hex.EncodeToString(nonce[:])))
	live.mu.Lock()
	defer live.mu.Unlock()
	live.names[place{s.fs, s.path(name)}] = atWork
	return name
}

// A nonce of this package ends with digits of a checksum of the digits before. Orbax writes the
// time there, and earlier versions of Bivouac wrote other digits.
const nonceDigits, sealDigits = 16, 4

// sealNonce adds the checksum to the digits of a nonce.
func sealNonce(digits string) string {
	return digits + fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte("bivouac "+digits)))[:sealDigits]
}

// unstage removes a staging name from the registry, so that CleanStaging may remove the object.
func (s *Store) unstage(name string) {
	live.mu.Lock()
	defer live.mu.Unlock()
	delete(live.names, place{s.fs, s.path(name)})
}

func (s *Store) staged(dir, name string) bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	return live.names[place{s.fs, s.path(path.Join(dir, name))}] != 0
}

// doubt keeps a staging name in the registry until Settle.
func (s *Store) doubt(name string) {
	live.mu.Lock()
	defer live.mu.Unlock()
	live.names[place{s.fs, s.path(name)}] = inDoubt
}

// doubts returns the names in doubt directly below dir.
func (s *Store) doubts(dir string) (found []place) {
	live.mu.Lock()
	defer live.mu.Unlock()
	for p, u := range live.names {
		if u == inDoubt && p.fs == s.fs && path.Dir(p.path) == s.path(dir) {
			found = append(found, p)
		}
	}
	return found
}
