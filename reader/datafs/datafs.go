// Package datafs finds and opens the files of a data set, by a path of the local file system or by
// the URL of an object in a bucket, such as s3://bucket/train/000.tar.
//
// Its functions are like the functions of os and path/filepath. A URL file:///data/000.tar is the
// path /data/000.tar. A bucket has no folders: the names below "train/" are the folder train.
package datafs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/blocks"
)

const fileScheme = "file"

// IsURL reports whether a path is the URL of an object in a bucket.
func IsURL(path string) bool { return store.IsURL(path) && !isFile(path) }

func isFile(path string) bool {
	scheme, _, _ := strings.Cut(path, "://")
	return len(scheme) == len(fileScheme) && strings.EqualFold(scheme, fileScheme)
}

// Local returns the path of the local file system that a URL with the scheme file names. It returns
// any other path as it is.
func Local(path string) string {
	if !store.IsURL(path) || !isFile(path) {
		return path
	}
	_, rest, _ := strings.Cut(path, "://")
	if after, ok := strings.CutPrefix(rest, "localhost/"); ok {
		rest = "/" + after
	}
	return filepath.FromSlash(rest)
}

// Check returns an error for a path that names no file: a URL file://host/…, or a path that
// errs.CheckPath refuses and that is no URL of a bucket.
func Check(path string) error {
	if store.IsURL(path) && isFile(path) {
		if !filepath.IsAbs(Local(path)) {
			return &errs.Error{Kind: errs.Unsupported, Op: "path", Subject: path, Want: "a URL such as file:///data/train",
				Got: "a URL of another host or a relative path", Remedy: "write file:// and then the whole path"}
		}
		return nil
	}
	if IsURL(path) {
		return nil
	}
	return errs.CheckPath(path)
}

// info describes an object, or the names below a folder of a bucket.
type info struct {
	o    store.Object
	name string
}

func (i info) Name() string               { return i.name }
func (i info) Size() int64                { return i.o.Size }
func (i info) ModTime() time.Time         { return i.o.ModTime }
func (i info) IsDir() bool                { return i.o.Dir }
func (i info) Sys() any                   { return i.o }
func (i info) Type() fs.FileMode          { return i.Mode().Type() }
func (i info) Info() (fs.FileInfo, error) { return i, nil }

func (i info) Mode() fs.FileMode {
	if i.o.Dir {
		return fs.ModeDir | 0o555
	}
	return 0o444
}

// Tag returns the tag of an object in a bucket, or "" for a local file.
func Tag(i fs.FileInfo) string {
	if o, ok := i.Sys().(store.Object); ok {
		return o.Tag
	}
	return ""
}

// WithTag describes an object of which only the size and the tag are known.
func WithTag(size int64, tag string) fs.FileInfo { return info{o: store.Object{Size: size, Tag: tag}} }

// bucket is the bucket of a URL, and the name in it.
type bucket struct {
	r    store.Ranger
	root string
	name string
}

// open opens the bucket of a URL. A mistake in the settings of the cache is an error here, before
// anything is read.
func open(ctx context.Context, url string) (b bucket, err error) {
	if _, err := Cache(); err != nil {
		return b, err
	}
	st, name, err := store.FromURL(ctx, url)
	if err != nil {
		return b, err
	}
	b.root, _ = store.SplitURL(url)
	b.name = name
	b.r, err = store.AsRanger("datafs.Open", st)
	return b, err
}

// url returns the URL of a name.
func (b bucket) url(name string) string { return store.JoinURL(b.root, strings.TrimSuffix(name, "/")) }

// failed adds the URL to an error. What is missing is also fs.ErrNotExist.
func failed(url string, err error) error {
	if errs.KindOf(err) == errs.NotFound && !errors.Is(err, store.ErrNoStore) {
		return &errs.Error{Kind: errs.NotFound, Subject: url, Err: fs.ErrNotExist}
	}
	return errs.Wrap("", url, err)
}

// Stat describes a file or a folder.
func Stat(ctx context.Context, name string) (fs.FileInfo, error) {
	if !IsURL(name) {
		return os.Stat(Local(name))
	}
	b, err := open(ctx, name)
	if err != nil {
		return nil, err
	}
	if b.name != "" {
		o, err := b.r.Head(ctx, b.name)
		if err == nil {
			return info{o, path.Base(b.name)}, nil
		}
		if errs.KindOf(err) != errs.NotFound || errors.Is(err, store.ErrNoStore) {
			return nil, failed(name, err)
		}
	}
	for _, err := range b.r.Objects(ctx, below(b.name), true) {
		if err != nil {
			return nil, failed(name, err)
		}
		return info{store.Object{Name: b.name, Dir: true}, path.Base(b.name)}, nil
	}
	return nil, failed(name, &errs.Error{Kind: errs.NotFound})
}

// below returns how the names below a folder begin.
func below(dir string) string {
	if dir == "" {
		return ""
	}
	return dir + "/"
}

// ReadDir lists a folder, sorted by name.
func ReadDir(ctx context.Context, dir string) ([]fs.DirEntry, error) {
	if !IsURL(dir) {
		return os.ReadDir(Local(dir))
	}
	b, err := open(ctx, dir)
	if err != nil {
		return nil, err
	}
	var list []fs.DirEntry
	for o, err := range b.r.Objects(ctx, below(b.name), true) {
		if err != nil {
			return nil, failed(dir, err)
		}
		list = append(list, info{o, path.Base(o.Name)})
	}
	if len(list) == 0 && b.name != "" {
		return nil, failed(dir, &errs.Error{Kind: errs.NotFound})
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Below calls visit with each file below a folder of a bucket, by its name relative to the folder,
// in ascending byte order.
func Below(ctx context.Context, dir string, visit func(name string, i fs.FileInfo) error) error {
	b, err := open(ctx, dir)
	if err != nil {
		return err
	}
	for o, err := range b.r.Objects(ctx, below(b.name), false) {
		if err != nil {
			return failed(dir, err)
		}
		if err := visit(strings.TrimPrefix(o.Name, below(b.name)), info{o, path.Base(o.Name)}); err != nil {
			return err
		}
	}
	return nil
}

const meta = `*?[`

// HasMeta reports whether a path is a pattern. In a URL, "?" begins the parameters.
func HasMeta(path string) bool {
	if IsURL(path) {
		_, path = store.SplitURL(path)
	}
	return strings.ContainsAny(path, meta)
}

// Glob returns the files and folders that match a pattern, as filepath.Glob does.
func Glob(ctx context.Context, pattern string) ([]string, error) {
	if !IsURL(pattern) {
		return filepath.Glob(Local(pattern))
	}
	b, err := open(ctx, pattern)
	if err != nil {
		return nil, err
	}
	if _, err := path.Match(b.name, ""); err != nil {
		return nil, err
	}
	names, err := b.glob(ctx, "", strings.Split(b.name, "/"))
	if err != nil {
		return nil, failed(pattern, err)
	}
	for i, name := range names {
		names[i] = b.url(name)
	}
	return names, nil
}

// glob returns the names below a folder that match the elements of a pattern.
func (b bucket) glob(ctx context.Context, dir string, elements []string) (names []string, err error) {
	first, rest := elements[0], elements[1:]
	at := strings.IndexAny(first, meta+`\`)
	if at < 0 && len(rest) > 0 {
		return b.glob(ctx, dir+first+"/", rest)
	}
	if at < 0 { // the last element, in a folder of a pattern
		at = len(first)
	}
	for o, err := range b.r.Objects(ctx, dir+first[:at], true) {
		if err != nil {
			return nil, err
		}
		name := strings.TrimSuffix(o.Name[len(dir):], "/")
		if ok, err := path.Match(first, name); err != nil || !ok {
			continue
		}
		if len(rest) == 0 {
			names = append(names, dir+name)
		} else if o.Dir {
			more, err := b.glob(ctx, dir+name+"/", rest)
			if err != nil {
				return nil, err
			}
			names = append(names, more...)
		}
	}
	return names, nil
}

// Open returns an object of a bucket, which is read through the cache of the process. i is what
// Stat or ReadDir has returned for it.
func Open(ctx context.Context, url string, i fs.FileInfo) (*blocks.Object, error) {
	c, err := Cache()
	if err != nil {
		return nil, err
	}
	b, err := open(ctx, url)
	if err != nil {
		return nil, err
	}
	tag := Tag(i)
	return c.Object(blocks.Version{URL: url, Tag: tag, Size: i.Size()},
		func(ctx context.Context, p []byte, off int64) error {
			if err := b.r.ReadRange(ctx, b.name, p, off, tag); err != nil {
				return failed(url, err)
			}
			return nil
		}), nil
}

// ReadFile returns the contents of a file.
func ReadFile(ctx context.Context, name string) ([]byte, error) {
	if !IsURL(name) {
		return os.ReadFile(Local(name))
	}
	i, err := Stat(ctx, name)
	if err != nil {
		return nil, err
	}
	if i.IsDir() {
		return nil, &errs.Error{Kind: errs.Invalid, Subject: name, Want: "a file", Got: "a folder"}
	}
	o, err := Open(ctx, name, i)
	if err != nil {
		return nil, err
	}
	b := make([]byte, i.Size())
	return b, o.ReadAt(ctx, b, 0)
}

// OpenText opens a file that is read from its beginning on.
func OpenText(ctx context.Context, name string) (io.ReadCloser, error) {
	if !IsURL(name) {
		return os.Open(Local(name))
	}
	b, err := ReadFile(ctx, name)
	return io.NopCloser(bytes.NewReader(b)), err
}

const (
	statsAtOnce = 32
	listFrom    = 8  // paths of one folder that are looked up in a list of the folder
	listMost    = 32 // names of the folder for each path, at most
)

// StatAll describes several files. It returns the number of the path that has the error.
func StatAll(ctx context.Context, paths []string) (list []fs.FileInfo, at int, err error) {
	list = make([]fs.FileInfo, len(paths))
	dirs := map[string][]int{}
	for i, p := range paths {
		if IsURL(p) {
			dirs[Dir(p)] = append(dirs[Dir(p)], i)
			continue
		}
		if err := ctx.Err(); err != nil {
			return nil, i, err
		}
		if list[i], err = os.Stat(Local(p)); err != nil {
			return nil, i, err
		}
	}
	for dir, members := range dirs {
		if len(members) >= listFrom {
			statListed(ctx, dir, paths, members, list)
		}
	}
	var group sync.WaitGroup
	turn := make(chan struct{}, statsAtOnce)
	failures := make([]error, len(paths))
	for i, p := range paths {
		if list[i] != nil {
			continue
		}
		turn <- struct{}{}
		group.Go(func() {
			list[i], failures[i] = Stat(ctx, p)
			<-turn
		})
	}
	group.Wait()
	for i, err := range failures {
		if err != nil {
			return nil, i, err
		}
	}
	return list, -1, nil
}

// statListed describes the files of a folder of a bucket by a list of the folder. It leaves out
// those that it does not find: a folder with many other names, or a list that fails.
func statListed(ctx context.Context, dir string, paths []string, members []int, list []fs.FileInfo) {
	b, err := open(ctx, dir)
	if err != nil {
		return
	}
	where := make(map[string][]int, len(members))
	for _, i := range members {
		_, name := store.SplitURL(paths[i])
		where[name] = append(where[name], i)
	}
	seen := 0
	for o, err := range b.r.Objects(ctx, below(b.name), true) {
		if seen++; err != nil || seen > listMost*len(members) {
			return
		}
		if o.Dir {
			continue
		}
		for _, i := range where[o.Name] {
			list[i] = info{o, path.Base(o.Name)}
		}
	}
}
