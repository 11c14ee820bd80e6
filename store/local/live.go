package local

import (
	"crypto/rand"
	"encoding/hex"
	"path"
	"sync"

	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// registry is the set of staging names that are in use by this process, over
// all Stores: CleanStaging leaves them alone. A name stays in it for ever when
// it is uncertain whether power loss would bring back the old name of what it
// holds.
type registry struct {
	mu    sync.Mutex
	names map[place]bool
}

type place struct {
	fs   vfs.FS
	path string
}

var live = registry{names: map[place]bool{}}

// stage returns a new staging name beside final and enters it.
func (s *Store) stage(final string) (name string) {
	var nonce [8]byte
	rand.Read(nonce[:]) //nolint:errcheck // documented never to fail
	name = store.StagingName(final, hex.EncodeToString(nonce[:]))
	live.mu.Lock()
	defer live.mu.Unlock()
	live.names[place{s.fs, s.path(name)}] = true
	return name
}

// unstage gives a staging name free for CleanStaging.
func (s *Store) unstage(name string) {
	live.mu.Lock()
	defer live.mu.Unlock()
	delete(live.names, place{s.fs, s.path(name)})
}

func (s *Store) staged(dir, name string) bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	return live.names[place{s.fs, s.path(path.Join(dir, name))}]
}
