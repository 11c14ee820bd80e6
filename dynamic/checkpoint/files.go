package checkpoint

import (
	"context"
	"errors"
	"os"
	"path/filepath"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
	"github.com/bivouac-ml/bivouac/store/local"
)

// Save writes the states to the file that the pattern names with the next number, and
// returns its path. The first time the next number is one more than the highest there
// is; after Load, one more than that of the file. Files that exist are passed over,
// never replaced; directories are made. When Save returns the file is durable.
//
// A pattern has one field, {seq} or with the format of an integer {seq:04d}; {{ and }}
// are braces. Other patterns are errors of kind errs.Invalid.
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
		highest, _, err := p.highest()
		if err != nil {
			return "", err
		}
		c.sequence = highest + 1
	}
	for ; ; c.sequence++ {
		path = p.path(c.sequence)
		if _, err := os.Lstat(path); err == nil {
			continue
		}
		s, err := local.Open(filepath.Dir(path), nil)
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
		return path, nil
	}
}

// Load takes the states from the file with the highest number that the pattern
// matches, with digits of any width, and returns its path. Errors: errs.NotFound where
// there is none, and those of Deserialize.
func (c *Checkpoint) Load(pattern string) (path string, err error) {
	if err := c.lock("Load"); err != nil {
		return "", err
	}
	defer c.mu.Unlock()
	p, err := parsePattern(pattern)
	if err != nil {
		return "", err
	}
	highest, path, err := p.highest()
	if err != nil {
		return "", err
	}
	if highest < 0 {
		return "", fail(errs.NotFound, "Load", "pattern "+pattern, "a file", "none that matches")
	}
	const largest = 1 << 30
	if info, err := os.Stat(path); err == nil && info.Size() > largest {
		return "", fail(errs.Exhausted, "Load", path, "at most 1 GiB", "more")
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return "", &errs.Error{Kind: errs.IO, Op: "checkpoint.Load", Subject: path, Err: err}
	}
	if err := c.deserialize(string(text)); err != nil {
		return "", errs.Wrap("checkpoint.Load", path, err)
	}
	c.sequence = highest + 1
	return path, nil
}
