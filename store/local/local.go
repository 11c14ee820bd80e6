// Package local is the store on a POSIX file system.
//
// # Transaction
//
// A transaction is built in a staging directory beside its target and becomes
// visible by one rename:
//
//	1  mkdir runs/100.orbax-checkpoint-tmp-<16 hex>     exclusive; new parents are synced first
//	2  create, allocate, write, fdatasync, close        each data file, exclusive; then the markers
//	3  sync every directory of the staging tree         deepest first
//	4  create, write, fdatasync, close the manifest     and sync its directory
//	5  rename runs/100.orbax-checkpoint-tmp-… runs/100  without replacing; or exchange, to overwrite
//	6  sync runs                                        only now is it committed
//	7  remove the old tree                              after an exchange, now under the staging name
//
// After a failed sync nothing is tried again on the same file. The transaction is abandoned. A
// second attempt writes new files.
//
// A transaction that joins another transaction writes into its staging directory, and ends after
// step 3. Then it has synced the files that it made and every directory in which it made files. So
// the process that began the transaction only syncs its own files and directories.
//
// # Direct writes
//
// Large objects are written past the page cache (O_DIRECT). This is faster and evicts nothing that
// other programs need. Room is allocated in whole blocks, the tail is padded with zeros, and the
// file is truncated to its size before the sync. If the file system refuses, at once or at the
// first write (EINVAL), the file is written through the cache, and TxnStats says so.
//
// # Owners and readers
//
// A process that builds a transaction holds flock(2) of its staging directory, shared, until the
// transaction is over or the process ends. A later transaction in the same directory frees the
// staging directories whose lock it can take exclusively: the processes that made them are dead. It
// recognises staging directories whose makers take locks by their nonces, which end with a
// checksum. A reader with a lease (store.Pinned) holds the same lock of the directory that it
// reads. When that directory is removed or replaced, its name goes at once, and its files are left
// to a later transaction or to CleanStaging. The store does not use these locks on file systems
// that other hosts may have mounted, because one host would not see the locks of another. There,
// leftovers wait for CleanStaging.
//
// # Removal
//
// RemoveTree renames to a staging name, syncs the parent, and only then frees the bytes. Hide ends
// before the bytes are freed, and the caller decides when to free them. If the process ends before
// that, they are leftovers of a dead transaction. CleanStaging syncs the directory first for the
// same reason: a staging name must be durable before its bytes are freed. Otherwise power loss
// could bring back the old name with part of its bytes.
//
// # After a directory sync that failed
//
// Commit, Put and RemoveTree have then renamed already and return ErrUncertain: the visible name
// may be gone after a power loss. Settle syncs the directory once more. Until that succeeds
// CleanStaging leaves the other tree alone.
//
// # Locks
//
// A writer may lock a directory by flock(2) on the file .bivouac.lock in it. The text of the file
// says who holds the lock. The file stays; only the lock counts, and the system releases it when
// the process ends. On NFS the server keeps the lock. On a file system without locks, Lock returns
// an error of kind errs.Unsupported.
//
// # File systems that can do less
//
// Without RENAME_NOREPLACE (NFS, some FUSE systems) the store publishes a directory in two steps:
// it checks the name and then renames. rename(2) itself does not replace a directory that is not
// empty, so two writers still cannot damage each other. A file is published by a hard link and the
// removal of the old name. Without RENAME_EXCHANGE overwriting is errs.Unsupported, because between
// two renames neither tree would have the name. A rename may report a failure although it took
// place (a lost reply of NFS). The store recognises this by the identity of the object under the
// final name.
//
// # Links
//
// The root may be a symbolic link or lie behind one. Below the root the store never follows a
// symbolic link, neither for reading nor for removing. A name that leads through a link is
// errs.Invalid, List shows the link as a file of size 0, and removal unlinks it. This protects
// against directories that were made elsewhere, not against somebody who changes them at the same
// time.
package local

import (
	"context"
	"errors"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/vfs"
	"github.com/bivouac-ml/bivouac/store"
)

// Options configure a Store. The zero value is right for most uses.
type Options struct {
	DirMode  fs.FileMode // permissions of new directories, before umask; 0 means 0777
	FileMode fs.FileMode // permissions of new files, before umask; 0 means 0666
	// DirectFrom is the size from which on objects of a transaction are written past the page cache,
	// if the file system can. 0 means 1 MiB, and Buffered means never.
	DirectFrom int64
}

// Buffered, as Options.DirectFrom, makes the store write everything through the page cache.
const Buffered = -1

func (o *Options) withDefaults() Options {
	var d Options
	if o != nil {
		d = *o
	}
	if d.DirMode == 0 {
		d.DirMode = 0o777 // the umask decides, as for any program
	}
	if d.FileMode == 0 {
		d.FileMode = 0o666 // the same
	}
	if d.DirectFrom == 0 {
		d.DirectFrom = 1 << 20 // below, the page cache costs less than a direct write
	}
	return d
}

// Store is a store.Store below one directory. It holds no open files between
// calls and needs no Close.
type Store struct {
	fs   vfs.FS
	root string
	opt  Options
	*known
}

// known is what a Store has learned. Stores with different permissions for new objects share it.
type known struct {
	indirect atomic.Bool // the file system has refused direct writes

	mu      sync.Mutex
	durable map[string]bool // directories whose own entry this Store has seen synced
	owed    map[string]bool // directories made by this Store whose entry it could not sync yet
	reaped  map[string]bool // directories in which this Store has freed the leftovers of dead transactions
	leased  map[string]bool // removed trees that are still being read, or could not be freed
}

var (
	_ store.Store     = (*Store)(nil)
	_ store.Permitter = (*Store)(nil)
)

// Open returns the store below dir on the file system of the operating system. dir need not exist:
// the first write creates it and its parents. If dir exists and is not a directory, the error is of
// kind errs.Invalid.
func Open(dir string, o *Options) (*Store, error) {
	const op = "local.Open"
	if dir == "" || strings.ContainsRune(dir, 0) {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: dir, Want: "the name of a directory"}
	}
	if err := CheckPath(dir); err != nil {
		return nil, err
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, wrap(op, dir, err)
	}
	if abs, err = resolve(abs); err != nil {
		return nil, wrap(op, dir, err)
	}
	s := New(vfs.OS(), filepath.ToSlash(abs), o)
	info, err := s.fs.Stat(s.root)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, wrap(op, dir, err)
	case !info.IsDir():
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: dir, Want: "a directory", Got: "a file"}
	}
	return s, nil
}

// resolve follows the symbolic links in the part of name that exists.
func resolve(name string) (string, error) {
	real, err := filepath.EvalSymlinks(name)
	up := filepath.Dir(name)
	if !errors.Is(err, fs.ErrNotExist) || up == name {
		return real, err
	}
	if real, err = resolve(up); err != nil {
		return "", err
	}
	return filepath.Join(real, filepath.Base(name)), nil
}

// New returns the store below root, an absolute slash-separated name, on fsys.
func New(fsys vfs.FS, root string, o *Options) *Store {
	return &Store{
		fs: fsys, root: path.Clean(root), opt: o.withDefaults(),
		known: &known{durable: map[string]bool{}, owed: map[string]bool{}, reaped: map[string]bool{}, leased: map[string]bool{}},
	}
}

// WithPermissions implements store.Permitter.
func (s *Store) WithPermissions(mode fs.FileMode) store.Store {
	with := *s
	with.opt.DirMode, with.opt.FileMode = mode, mode&^0o111
	return &with
}

// Properties implements store.Store.
func (s *Store) Properties() store.Properties {
	block := vfs.DirectBlock
	if s.opt.DirectFrom == Buffered {
		block = 1
	}
	return store.Properties{Block: block, Links: true, Name: "local:" + s.root}
}

// path returns the name in the file system for a checked name.
func (s *Store) path(name string) string { return path.Join(s.root, name) }

// locate checks a name for reading and describes the object. The root is legal. Symbolic links
// below the root are not followed.
func (s *Store) locate(ctx context.Context, op, name string) (fs.FileInfo, error) {
	if name != "" {
		if err := store.CheckName(op, name); err != nil {
			return nil, err
		}
	}
	if err := alive(ctx, op, name); err != nil {
		return nil, err
	}
	for i, c := range name {
		if c != '/' {
			continue
		}
		info, err := s.fs.Stat(s.path(name[:i]))
		switch {
		case err != nil:
			return nil, wrap(op, name, err)
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, notFollowed(op, name)
		}
	}
	info, err := s.fs.Stat(s.path(name))
	if err != nil {
		return nil, wrap(op, name, err)
	}
	return info, nil
}

func notFollowed(op, name string) error {
	return &errs.Error{
		Kind: errs.Invalid, Op: op, Subject: name, Want: "a name that does not lead through a symbolic link",
		Remedy: "replace the link by its target, or open the store at the target",
	}
}

func alive(ctx context.Context, op, name string) error {
	if ctx.Err() == nil {
		return nil
	}
	return &errs.Error{Kind: errs.Canceled, Op: op, Subject: name, Err: context.Cause(ctx)}
}
