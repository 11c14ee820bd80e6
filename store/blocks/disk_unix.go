//go:build unix

package blocks

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/internal/crc"
)

// A directory of blocks has
//
//	BIVOUAC_CACHE    the mark: the cache wrote everything else
//	usage            the bytes of all blocks; its lock guards it and the removal of blocks
//	blocks/ab/ab…-7  block 7 of a version of an object
//	blocks/ab/….part a block that is on its way; its writer holds the lock
//
// A block is written under the name .part and renamed, so that a killed process leaves no half
// block under a final name. No write is synced: a block that a power failure has torn does not
// match its checksum, and is requested again.
const (
	markName  = "BIVOUAC_CACHE"
	markText  = "bivouac block cache 1\n"
	markNote  = "Bivouac wrote the files of this directory and removes them. Keep nothing else here.\n"
	usageName = "usage"
	blockDir  = "blocks"
	partEnd   = ".part"

	headerBytes = 64
	headerMagic = "BVBLOCK1"
)

var (
	errLocked = errors.New("another process gets the block")

	blockName = regexp.MustCompile(`^[0-9a-f]{40}-[0-9]{1,12}(\.part)?$`)
	shelfName = regexp.MustCompile(`^[0-9a-f]{2}$`)
)

// disk is a directory of blocks.
type disk struct {
	dir   string
	size  int64
	mu    sync.Mutex
	usage *os.File
	waits time.Time // no block is written before, as the disk was full
}

func openDisk(dir string, size int64) (*disk, error) {
	const op = "blocks.Open"
	fail := func(err error) error {
		var own *errs.Error
		if errors.As(err, &own) {
			return err
		}
		var p *fs.PathError
		if errors.As(err, &p) {
			err = p.Err
		}
		kind, remedy := errs.IO, ""
		switch {
		case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS):
			kind, remedy = errs.Permission, "name a directory for the cache that this user can write to"
		case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
			kind, remedy = errs.Exhausted, "free some space, or name a directory of another disk for the cache"
		case errors.Is(err, syscall.ENOTDIR), errors.Is(err, fs.ErrExist):
			kind, remedy = errs.Invalid, "name a directory for the cache"
		}
		return &errs.Error{Kind: kind, Op: op, Subject: dir, Want: "a directory for the cache", Err: err, Remedy: remedy}
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, fail(err)
	}
	if err := os.MkdirAll(abs, 0o700); err != nil {
		return nil, fail(err)
	}
	info, err := os.Stat(abs)
	if err != nil {
		return nil, fail(err)
	}
	if st, ok := info.Sys().(*syscall.Stat_t); ok && int(st.Uid) != os.Geteuid() {
		return nil, &errs.Error{Kind: errs.Permission, Op: op, Subject: dir,
			Want: fmt.Sprintf("a directory of the user %d", os.Geteuid()), Got: fmt.Sprintf("a directory of the user %d", st.Uid),
			Remedy: "name a directory of your own: another user could put other data into the cache"}
	}
	if err := mark(op, abs); err != nil {
		return nil, fail(err)
	}
	if err := os.Mkdir(filepath.Join(abs, blockDir), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fail(err)
	}
	if info, err = os.Lstat(filepath.Join(abs, blockDir)); err != nil || !info.IsDir() {
		return nil, &errs.Error{Kind: errs.Invalid, Op: op, Subject: filepath.Join(dir, blockDir), Want: "a directory",
			Got: "something else", Remedy: "name another directory for the cache"}
	}
	usage, err := os.OpenFile(filepath.Join(abs, usageName), os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return nil, fail(err)
	}
	return &disk{dir: abs, size: size, usage: usage}, nil
}

// mark checks that a directory is a cache, or makes an empty directory one.
func mark(op, dir string) error {
	at := filepath.Join(dir, markName)
	if _, err := os.Lstat(at); err == nil {
		return marked(op, dir)
	}
	if err := empty(op, dir); err != nil {
		if _, again := os.Lstat(at); again == nil {
			return marked(op, dir)
		}
		return err
	}
	f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_EXCL|syscall.O_NOFOLLOW, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return marked(op, dir)
	}
	if err != nil {
		return err
	}
	_, err = f.WriteString(markText + markNote)
	if e := f.Close(); err == nil {
		err = e
	}
	if err != nil {
		os.Remove(at) //nolint:errcheck // the first error says more
	}
	return err
}

// empty returns an error for a directory that has more than a mark.
func empty(op, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() != markName {
			return &errs.Error{Kind: errs.Invalid, Op: op, Subject: dir,
				Want: "an empty directory, or one that the cache has made", Got: "a directory with " + e.Name(),
				Remedy: "name a directory of its own for the cache: the cache removes what it has written there"}
		}
	}
	return nil
}

// marked checks the mark of a cache. Another process may be writing it.
func marked(op, dir string) error {
	var b []byte
	for range 50 {
		f, err := os.OpenFile(filepath.Join(dir, markName), os.O_RDONLY|syscall.O_NOFOLLOW, 0)
		if err != nil {
			return err
		}
		b, err = io.ReadAll(io.LimitReader(f, 1000))
		f.Close() //nolint:errcheck // it was only read
		if err != nil {
			return err
		}
		if len(b) > 0 {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	if bytes.HasPrefix(b, []byte(markText)) {
		return nil
	}
	if len(b) == 0 { // its writer was killed
		if err := empty(op, dir); err != nil {
			return err
		}
		return os.WriteFile(filepath.Join(dir, markName), []byte(markText+markNote), 0o600)
	}
	line, _, _ := bytes.Cut(b, []byte("\n"))
	return &errs.Error{Kind: errs.Mismatch, Op: op, Subject: filepath.Join(dir, markName),
		Want: fmt.Sprintf("the line %q", markText[:len(markText)-1]), Got: fmt.Sprintf("%.60q", line),
		Remedy: "another version of bivouac made this cache, or another program: name another directory"}
}

func (d *disk) close() error { return d.usage.Close() }

func (d *disk) path(at place) string {
	name := at.String()
	return filepath.Join(d.dir, blockDir, name[:2], name)
}

// header describes a block: what it is, its bytes and their checksum.
func header(at place, data []byte) []byte {
	h := make([]byte, 0, headerBytes)
	h = append(h, headerMagic...)
	h = append(h, at.version[:]...)
	h = binary.LittleEndian.AppendUint64(h, uint64(at.number))
	h = binary.LittleEndian.AppendUint64(h, uint64(len(data)))
	h = binary.LittleEndian.AppendUint32(h, crc.Sum(data))
	h = binary.LittleEndian.AppendUint32(h, crc.Sum(h))
	return h[:headerBytes]
}

// open opens the file of a block and checks it. buf is memory for its bytes. Fails with
// errs.NotFound if there is no file, and with errs.Corrupt if it is damaged.
func (d *disk) open(at place, buf []byte) (*os.File, error) {
	path := d.path(at)
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return nil, &errs.Error{Kind: errs.NotFound, Err: err}
	}
	var have [headerBytes]byte
	_, err = f.ReadAt(have[:], 0)
	if err == nil {
		_, err = f.ReadAt(buf, headerBytes)
	}
	switch {
	case err != nil:
		err = &errs.Error{Kind: errs.Corrupt, Subject: path, Want: fmt.Sprintf("%d bytes", headerBytes+len(buf)), Err: err}
	case !bytes.Equal(have[:], header(at, buf)):
		err = &errs.Error{Kind: errs.Corrupt, Subject: path, Want: "bytes that match their checksum", Got: "others"}
	default:
		now := time.Now()
		os.Chtimes(path, now, now) //nolint:errcheck // only the order of removal depends on it
		return f, nil
	}
	f.Close() //nolint:errcheck // it was only read
	return nil, err
}

// lock makes the file for a block that this process gets, and locks it. Fails with errLocked if
// another process gets the block.
func (d *disk) lock(at place) (*os.File, error) {
	path := d.path(at) + partEnd
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|syscall.O_NOFOLLOW, 0o600)
		if errors.Is(err, fs.ErrNotExist) {
			if err := os.Mkdir(filepath.Dir(path), 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
				return nil, err
			}
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
			f.Close() //nolint:errcheck // nothing was written
			if errors.Is(err, syscall.EWOULDBLOCK) {
				return nil, errLocked
			}
			return nil, err
		}
		if isAt(f, path) {
			return f, nil
		}
		f.Close() //nolint:errcheck // its writer has renamed it, or somebody has removed it
	}
}

// unlock gives up a file that lock made.
func (d *disk) unlock(part *os.File, at place) {
	if path := d.path(at) + partEnd; isAt(part, path) {
		os.Remove(path) //nolint:errcheck // the next writer uses it again
	}
	part.Close() //nolint:errcheck // it is not needed
}

func flock(f *os.File, how int) error {
	for {
		if err := syscall.Flock(int(f.Fd()), how); !errors.Is(err, syscall.EINTR) {
			return err
		}
	}
}

// isAt reports whether a path still names an open file.
func isAt(f *os.File, path string) bool {
	have, err := f.Stat()
	if err != nil {
		return false
	}
	now, err := os.Lstat(path)
	return err == nil && os.SameFile(have, now)
}

// fullPause is how long nothing is written after the disk was full.
const fullPause = 10 * time.Second

// keep writes a block into the file that lock made, and gives the file its name. The file stays
// open for reading and is not locked any more.
func (d *disk) keep(part *os.File, at place, data []byte) error {
	d.mu.Lock()
	wait := time.Now().Before(d.waits)
	d.mu.Unlock()
	if wait {
		return &errs.Error{Kind: errs.Exhausted, Subject: d.dir, Got: "a full disk"}
	}
	n := headerBytes + int64(len(data))
	err := part.Truncate(0) // what a killed process left
	if err == nil {
		_, err = part.WriteAt(header(at, data), 0)
	}
	if err == nil {
		err = part.Truncate(n) // so that evict knows the size
	}
	reserved := false
	if err == nil {
		err = d.reserve(n, d.path(at)+partEnd)
		reserved = err == nil
	}
	if err == nil {
		_, err = part.WriteAt(data, headerBytes)
	}
	if err == nil {
		err = os.Rename(d.path(at)+partEnd, d.path(at))
	}
	if err == nil {
		err = flock(part, syscall.LOCK_UN)
	}
	if err == nil {
		return nil
	}
	if reserved {
		d.release(n)
	}
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		d.mu.Lock()
		d.waits = time.Now().Add(fullPause)
		d.mu.Unlock()
	}
	return err
}

// account changes the bytes of all blocks under the lock that all processes share.
func (d *disk) account(change func(used int64, known bool) (int64, error)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := flock(d.usage, syscall.LOCK_EX); err != nil {
		return err
	}
	defer flock(d.usage, syscall.LOCK_UN) //nolint:errcheck // closing the file unlocks it too
	var b [8]byte
	n, err := d.usage.ReadAt(b[:], 0)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	used := int64(binary.LittleEndian.Uint64(b[:]))
	used, err = change(used, n == len(b) && used >= 0)
	binary.LittleEndian.PutUint64(b[:], uint64(used))
	if _, writeErr := d.usage.WriteAt(b[:], 0); err == nil {
		err = writeErr
	}
	return err
}

// reserve makes room for n bytes, which part will have.
func (d *disk) reserve(n int64, part string) error {
	return d.account(func(used int64, known bool) (int64, error) {
		if known && used+n <= d.size {
			return used + n, nil
		}
		used, err := d.evict(n, part)
		if err != nil {
			return used, err
		}
		if used+n > d.size {
			return used, &errs.Error{Kind: errs.Exhausted, Subject: d.dir, Want: fmt.Sprintf("room for a block of %d bytes", n),
				Got: fmt.Sprintf("a bound of %d bytes, of which %d are used", d.size, used), Remedy: "raise the size of the cache"}
		}
		return used + n, nil
	})
}

// release takes back what reserve has added.
func (d *disk) release(n int64) {
	d.account(func(used int64, known bool) (int64, error) { //nolint:errcheck // evict counts again
		if !known {
			return -1, nil
		}
		return max(0, used-n), nil
	})
}

// kept is a file of a block.
type kept struct {
	path string
	size int64
	used time.Time
}

// evict removes the blocks that were used longest ago until n bytes and a tenth of the size are
// free. It returns the bytes of the blocks that are left, without part. It touches only regular
// files that have the name and the first bytes of a block.
func (d *disk) evict(n int64, part string) (used int64, err error) {
	var all []kept
	var renamed []string // blocks of others that got their name meanwhile
	root := filepath.Join(d.dir, blockDir)
	shelves, err := os.ReadDir(root)
	if err != nil {
		return -1, err
	}
	for _, s := range shelves {
		if !s.IsDir() || !shelfName.MatchString(s.Name()) {
			continue
		}
		entries, err := os.ReadDir(filepath.Join(root, s.Name()))
		if err != nil {
			return -1, err
		}
		for _, e := range entries {
			if !e.Type().IsRegular() || !blockName.MatchString(e.Name()) || e.Name()[:2] != s.Name() {
				continue
			}
			path := filepath.Join(root, s.Name(), e.Name())
			info, err := e.Info()
			if errors.Is(err, fs.ErrNotExist) {
				renamed = append(renamed, strings.TrimSuffix(path, partEnd))
				continue
			}
			if err != nil {
				return -1, err
			}
			if filepath.Ext(path) == partEnd {
				if path != part && !d.removePart(path) {
					used += info.Size()
				}
				continue
			}
			all = append(all, kept{path, info.Size(), info.ModTime()})
			used += info.Size()
		}
	}
	for _, path := range renamed {
		listed := slices.ContainsFunc(all, func(k kept) bool { return k.path == path })
		if info, err := os.Lstat(path); err == nil && !listed {
			all = append(all, kept{path, info.Size(), info.ModTime()})
			used += info.Size()
		}
	}
	if used+n <= d.size {
		return used, nil
	}
	slices.SortFunc(all, func(a, b kept) int { return cmp.Or(a.used.Compare(b.used), cmp.Compare(a.path, b.path)) })
	for _, k := range all {
		if used+n <= d.size-d.size/10 {
			break
		}
		if !isBlock(k.path) {
			continue
		}
		if err := os.Remove(k.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return used, err
		}
		used -= k.size
	}
	return used, nil
}

// isBlock reports whether a file begins like a block.
func isBlock(path string) bool {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // it was only read
	var b [len(headerMagic) + 20]byte
	_, err = f.ReadAt(b[:], 0)
	name := filepath.Base(path)
	return err == nil && string(b[:len(headerMagic)]) == headerMagic &&
		hex.EncodeToString(b[len(headerMagic):]) == name[:40]
}

// removePart removes what a killed process left, unless a process is writing it. It reports whether
// the file is gone.
func (d *disk) removePart(path string) bool {
	f, err := os.OpenFile(path, os.O_RDWR|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	if flock(f, syscall.LOCK_EX|syscall.LOCK_NB) != nil || !isAt(f, path) {
		return false
	}
	info, err := f.Stat()
	return err == nil && (info.Size() == 0 || isBlock(path)) && os.Remove(path) == nil
}

// openLimit is how many files the process may open.
func openLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil || l.Cur > 1<<20 {
		return 1 << 20
	}
	return int(l.Cur) //nolint:unconvert // other systems have another type
}
