package datafs

import (
	"path"
	"path/filepath"
	"strings"

	"github.com/bivouac-ml/bivouac/store"
)

// Rename returns a path whose name f has changed: of a URL it is the name in the bucket, without
// parameters.
func Rename(name string, f func(name string) string) string {
	if !IsURL(name) {
		return f(Local(name))
	}
	root, in := store.SplitURL(name)
	return store.JoinURL(root, strings.TrimPrefix(f(in), "/"))
}

// Name returns what tells the format of a file: the path, or the name in the bucket.
func Name(path string) string {
	if !IsURL(path) {
		return Local(path)
	}
	_, name := store.SplitURL(path)
	return name
}

// Join joins elements to a path, as filepath.Join does.
func Join(dir string, elements ...string) string {
	if !IsURL(dir) {
		return filepath.Join(append([]string{Local(dir)}, elements...)...)
	}
	root, name := store.SplitURL(dir)
	for _, e := range elements {
		name += "/" + filepath.ToSlash(e)
	}
	return store.JoinURL(root, strings.Trim(path.Clean("/"+name), "/"))
}

// Under joins a folder and a name below it, as they are: "dir/name".
func Under(dir, name string) string {
	if IsURL(dir) {
		return Join(dir, name)
	}
	return Local(dir) + "/" + name
}

// Dir returns the folder of a path.
func Dir(name string) string {
	if !IsURL(name) {
		return filepath.Dir(Local(name))
	}
	return Rename(name, func(in string) string { return strings.Trim(path.Dir("/"+in), "/") })
}

// Base returns the last element of a path.
func Base(path string) string { return filepath.Base(Name(path)) }

// Ext returns the extension of a path.
func Ext(path string) string { return filepath.Ext(Name(path)) }

// IsAbs reports whether a path does not depend on the working directory.
func IsAbs(path string) bool { return IsURL(path) || filepath.IsAbs(Local(path)) }

// Abs returns the path from the root, or a URL in its shortest form.
func Abs(name string) (string, error) {
	if IsURL(name) {
		return Join(name), nil
	}
	return filepath.Abs(Local(name))
}

// Clean returns the shortest path of the same file.
func Clean(name string) string {
	if IsURL(name) {
		return Join(name)
	}
	return filepath.Clean(Local(name))
}

// Rel returns a path relative to a folder, if the folder is above it.
func Rel(dir, name string) (string, error) {
	if IsURL(dir) != IsURL(name) {
		return "", errNoRel(dir, name)
	}
	if !IsURL(dir) {
		return filepath.Rel(Local(dir), Local(name))
	}
	rootOf, above := store.SplitURL(dir)
	root, in := store.SplitURL(name)
	if rootOf != root {
		return "", errNoRel(dir, name)
	}
	rel, err := filepath.Rel("/"+above, "/"+in)
	return filepath.ToSlash(rel), err
}
