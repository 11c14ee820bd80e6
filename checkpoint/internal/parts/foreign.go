package parts

import (
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/checkpoint/internal/orbax"
	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/ocdbt"
)

// Admit refuses a file of a handler, below the item, that is there already: what
// handlers write is not joined. It may be called from several goroutines.
func (a *Assembly) Admit(item, name string) error {
	at := path.Join(item, name)
	for there := range a.links {
		if there == at || strings.HasPrefix(there, at+"/") || strings.HasPrefix(at, there+"/") {
			return &errs.Error{Kind: errs.Exists, Subject: at, Got: "a file of the handler's leaves that were saved before",
				Remedy: "save all leaves of the handler at once, or replace all of them; or make the handler name files after leaves"}
		}
	}
	return nil
}

// dropForeign takes the files of leaf handlers away when the tree of the item has
// none of their leaves any more. While it has one, none of them can go: which file
// is whose, only the handler knows.
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

// knowHandlers notes which items of a part have handlers of their writer's own:
// whatever their files are called, they are not documents.
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

// isOwn reports whether a file is of an item that a handler of its own wrote.
func (a *Assembly) isOwn(name string) bool {
	item, below, _ := strings.Cut(name, "/")
	return a.own[item] && below != orbax.CommitFile
}

// joins returns how documents of the name are joined, or nil if the file is a handler's.
func (a *Assembly) joins(name string) func(a, b []byte) ([]byte, error) {
	if a.isOwn(name) {
		return nil
	}
	return joins(name)
}
