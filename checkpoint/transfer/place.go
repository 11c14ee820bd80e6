package transfer

import (
	"cmp"
	"context"
	"path"
	"slices"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/manifest"
	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/store"
)

// Place is where a checkpoint lies or will lie.
type Place struct {
	Store store.Store
	Name  string // in the store
	Text  string // for messages: a path or a URL
}

func (p Place) below(name string) string { return path.Join(p.Name, name) }

// join returns the text of a file.
func (p Place) join(name string) string {
	if store.IsURL(p.Text) {
		root, own := store.SplitURL(p.Text)
		return store.JoinURL(root, path.Join(own, name))
	}
	return path.Join(p.Text, name)
}

// File is a file of a checkpoint, with a name relative to it.
type File struct {
	Name  string
	Bytes int64
}

// Files lists the files of a checkpoint that is a directory, in ascending order of their names.
func Files(ctx context.Context, p Place) ([]File, error) {
	var out []File
	var below func(dir string) error
	below = func(dir string) error {
		for info, err := range p.Store.List(ctx, p.below(dir)) {
			switch name := path.Join(dir, info.Name); {
			case err != nil:
				return err
			case info.Dir:
				if err := below(name); err != nil {
					return err
				}
			default:
				out = append(out, File{name, info.Size})
			}
		}
		return nil
	}
	err := below("")
	slices.SortFunc(out, func(a, b File) int { return cmp.Compare(a.Name, b.Name) })
	return out, err
}

// lastOf returns the names of the files that make a checkpoint whole, the last one first.
func lastOf(files []File) []string {
	var names []string
	for _, name := range []string{manifest.Name, orbax.CommitFile, orbax.CheckpointFile} {
		if slices.ContainsFunc(files, func(f File) bool { return f.Name == name }) {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		names = append(names, slices.MinFunc(files, func(a, b File) int {
			return cmp.Or(cmp.Compare(a.Bytes, b.Bytes), cmp.Compare(a.Name, b.Name))
		}).Name)
	}
	return names
}
