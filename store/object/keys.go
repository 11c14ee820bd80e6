package object

import (
	"net/url"
	"path"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// reserved is the element under which the store keeps its own keys in a directory.
const reserved = ".bivouac.objects"

// place is a transaction: the directory in which it began, and its staging name there.
type place struct {
	Dir string `json:"dir"`
	Txn string `json:"txn"`
}

func (p place) String() string { return path.Join(p.Dir, p.Txn) }

// key returns the key of an object of Put.
func (s *Store) key(name string) string { return s.prefix + name }

// own returns a key of the store's own in the directory dir. A part that ends with "/" makes it a
// prefix.
func (s *Store) own(dir string, parts ...string) string {
	if dir != "" {
		dir += "/"
	}
	return s.prefix + dir + reserved + "/" + strings.Join(parts, "/")
}

func (s *Store) headKey(name string) string  { return s.own(parent(name), "heads", base(name)) }
func (s *Store) liveKey(p place) string      { return s.own(p.Dir, "live", p.Txn) }
func (s *Store) goneKey(p place) string      { return s.own(p.Dir, "gone", p.Txn) }
func (s *Store) dataKey(p place) string      { return s.own(p.Dir, "data", p.Txn) + "/" }
func (s *Store) treeKey(p place) string      { return s.dataKey(p) + "tree" }
func (s *Store) objectKey(p place) string    { return s.dataKey(p) + "objects/" }
func (s *Store) partsKey(p place) string     { return s.dataKey(p) + "parts/" }
func (s *Store) namesKey(p place) string     { return s.dataKey(p) + "names/" }
func (s *Store) usersKey(p place) string     { return s.dataKey(p) + "users/" }
func (s *Store) usesKey(p place) string      { return s.dataKey(p) + "uses/" }
func (s *Store) userKey(of, by place) string { return s.usersKey(of) + escape(by.String()) }

// escape makes one element of a name.
func escape(name string) string { return url.PathEscape(name) }

func unescape(name string) string {
	if plain, err := url.PathUnescape(name); err == nil {
		return plain
	}
	return name
}

// placeOf is the inverse of place.String.
func placeOf(text string) place { return place{parent(text), base(text)} }

func parent(name string) string {
	if i := strings.LastIndexByte(name, '/'); i >= 0 {
		return name[:i]
	}
	return ""
}

func base(name string) string { return name[strings.LastIndexByte(name, '/')+1:] }

// inside reports whether name is below dir.
func inside(name, dir string) bool {
	return dir == "" && name != "" || len(name) > len(dir) && name[:len(dir)] == dir && name[len(dir)] == '/'
}

// check returns an error unless name is a legal name of an object or a directory.
func check(op, name string) error {
	if err := store.CheckName(op, name); err != nil {
		return err
	}
	return unreserved(op, name)
}

// checkFinal works like check for names under which an object is committed.
func checkFinal(op, name string) error {
	if err := store.CheckFinalName(op, name); err != nil {
		return err
	}
	return unreserved(op, name)
}

// checkDir works like check, and also takes the root.
func checkDir(op, name string) error {
	if name == "" {
		return nil
	}
	return check(op, name)
}

func unreserved(op, name string) error {
	if !strings.Contains("/"+name+"/", "/"+reserved+"/") {
		return nil
	}
	return &errs.Error{Kind: errs.Invalid, Op: op, Subject: name, Want: "a name without the element " + reserved,
		Remedy: "choose another name: the store keeps its own objects there"}
}
