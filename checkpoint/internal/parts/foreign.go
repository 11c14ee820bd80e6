package parts

import (
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// Admit returns an error if a file of a handler, named relative to the item, already exists: files
// of handlers cannot be joined. Several goroutines may call it.
func (a *Assembly) Admit(item, name string) error {
	at := path.Join(item, name)
	for there := range a.links {
		if there == at || strings.HasPrefix(there, at+"/") || strings.HasPrefix(at, there+"/") {
			return &errs.Error{Kind: errs.Exists, Subject: at, Got: "a file of the handler's leaves that were saved before",
				Remedy: "save all leaves of the handler at once, or replace all of them; " +
					"or make the handler name files after leaves"}
		}
	}
	return nil
}

// dropForeign removes the files of leaf handlers if the tree of the item has no leaf of them any
// more. While it has one, all files stay, because only the handler knows to which leaf a file
// belongs.
func (a *Assembly) dropForeign(item string) error {
	t, ok, err := a.Tree(item)
	if err != nil || !ok || t.HasForeign() {
		return err
	}
	var names []string
	for name := range a.links {
		if below, ok := strings.CutPrefix(name, item+"/"); ok {
			names = append(names, below)
		}
	}
	if _, whole := a.docs[path.Join(item, ocdbt.ManifestName)]; whole || a.items[item] != nil {
		names = append(names, ocdbt.ManifestName)
	}
	for _, below := range orbax.ForeignFiles(names, t.Arrays()) {
		a.unlink(path.Join(item, below))
	}
	return nil
}

// knowHandlers records which items of a part were written by handlers of the user. Their files are
// not documents, whatever their names.
func (a *Assembly) knowHandlers(doc []byte) error {
	c, err := orbax.ParseCheckpoint(doc)
	for item, typeString := range c.Handlers {
		if orbax.OwnHandler(typeString) {
			a.own[item] = true
		} else {
			delete(a.own, item)
		}
	}
	return err
}

// isOwn reports whether a file belongs to an item of a handler of the user.
func (a *Assembly) isOwn(name string) bool {
	item, below, _ := strings.Cut(name, "/")
	return a.own[item] && below != orbax.CommitFile
}

// joins returns the function that joins documents of the name, or nil if the file belongs to a
// handler.
func (a *Assembly) joins(name string) func(a, b []byte) ([]byte, error) {
	if a.isOwn(name) {
		return nil
	}
	return joins(name)
}
