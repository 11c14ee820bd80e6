package checkpoint

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// Save writes the states to the file that the pattern names with the next number, and returns its
// path. The first time, the next number is one more than the highest number of a file; after Load,
// one more than the number of the loaded file. Save never replaces a file: it skips numbers whose
// file exists. It makes missing directories. When Save returns, the file is durable. After an error
// the existing files are unchanged, and there is no partial new file.
//
// With Options.Keep, Save then removes older files of the pattern. If one cannot be removed, Save
// returns the path of the new file and an error.
//
// A pattern has exactly one field: {seq}, or {seq:04d} with a format for an integer. {{ and }}
// stand for braces. Any other pattern is an error of kind errs.Invalid.
func (c *Checkpoint) Save(ctx context.Context, pattern string) (path string, err error) {
	if err := c.lock("Save"); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	p, err := parsePattern(pattern)
	if err != nil {
		return "", err
	}
	text, err := c.serialize()
	if err != nil {
		return "", err
	}
	if c.sequence < 0 {
		files, err := c.files(ctx, p)
		if err != nil {
			return "", err
		}
		c.sequence = 0
		if n := len(files); n > 0 {
			c.sequence = files[n-1].number + 1
		}
	}
	for ; ; c.sequence++ {
		path = p.path(c.sequence)
		s, err := c.open(filepath.Dir(path))
		if err != nil {
			return "", err
		}
		err = s.Put(ctx, filepath.Base(path), []byte(text), store.PutOptions{IfAbsent: true})
		if errors.Is(err, errs.Exists) {
			continue
		}
		if err != nil {
			return "", err
		}
		c.sequence++
		return path, c.retire(ctx, p, c.sequence-1)
	}
}

// retire removes the files of a pattern with numbers up to newest, except the newest Options.Keep
// files.
func (c *Checkpoint) retire(ctx context.Context, p pattern, newest int) error {
	if c.options.Keep <= 0 {
		return nil
	}
	files, err := c.files(ctx, p)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(f file) bool { return f.number > newest })
	for _, f := range files[:max(0, len(files)-c.options.Keep)] {
		s, err := c.open(filepath.Dir(f.path))
		if err == nil {
			err = s.RemoveTree(ctx, filepath.Base(f.path))
		}
		if err != nil && !errors.Is(err, errs.NotFound) {
			return err
		}
	}
	return nil
}

// Load takes the states from the file with the highest number that the pattern matches, with
// digits of any width, and returns its path. It fails with errs.NotFound if no file matches, and
// as Deserialize does.
func (c *Checkpoint) Load(pattern string) (path string, err error) {
	if err := c.lock("Load"); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	p, err := parsePattern(pattern)
	if err != nil {
		return "", err
	}
	ctx := context.Background() // local files, without a network
	files, err := c.files(ctx, p)
	if err != nil {
		return "", err
	}
	if len(files) == 0 {
		return "", fail(errs.NotFound, "Load", "pattern "+pattern, "a file that matches", "no such file")
	}
	newest := files[len(files)-1]
	text, err := c.read(ctx, newest.path)
	if err != nil {
		return "", err
	}
	if err := c.deserialize(text); err != nil {
		return "", errs.Wrap("checkpoint.Load", newest.path, err)
	}
	c.sequence = newest.number + 1
	return newest.path, nil
}

// read returns the contents of a file.
func (c *Checkpoint) read(ctx context.Context, path string) (string, error) {
	s, err := c.open(filepath.Dir(path))
	if err != nil {
		return "", err
	}
	r, err := s.Open(ctx, filepath.Base(path))
	if err != nil {
		return "", err
	}
	defer r.Close()
	const largest = 1 << 30
	if r.Size() > largest {
		return "", fail(errs.Exhausted, "Load", path, "a file of at most 1 GiB", "a larger file")
	}
	b := make([]byte, r.Size())
	return string(b), r.ReadAt(ctx, b, 0)
}

// file is a file whose path matches a pattern.
type file struct {
	number int
	path   string
}

// files returns the files that match a pattern, in ascending order of their numbers. Numbers are
// read as decimal numbers for every format, as in DALI.
func (c *Checkpoint) files(ctx context.Context, p pattern) ([]file, error) {
	dir, head := filepath.Split(p.before)
	at := dir
	if at == "" {
		at = "."
	}
	s, err := c.open(at)
	if err != nil {
		return nil, err
	}
	var list []file
	for e, err := range s.List(ctx, "") {
		if errors.Is(err, errs.NotFound) {
			break
		}
		if err != nil {
			return nil, err
		}
		n, rest, ok := p.number(e.Name, head)
		if !ok {
			continue
		}
		name := e.Name
		if rest != "" {
			name += "/" + rest
		}
		if info, err := s.Stat(ctx, name); err == nil && !info.Dir {
			list = append(list, file{number: n, path: dir + filepath.FromSlash(name)})
		}
	}
	slices.SortStableFunc(list, func(a, b file) int { return a.number - b.number })
	return list, nil
}
