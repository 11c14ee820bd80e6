package layout

import (
	"context"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/store"
)

// DamagedMark ends the name of a directory that was set aside. A number may follow it.
const DamagedMark = ".damaged"

// SetAside renames a directory to the first free name of <name>.damaged,
// <name>.damaged-2, … and returns it. Nothing is deleted.
func SetAside(ctx context.Context, st store.Store, name string) (string, error) {
	for n := 1; ; n++ {
		to := AsideName(name, n)
		err := st.Rename(ctx, name, to)
		if errs.KindOf(err) != errs.Exists {
			return to, err
		}
	}
}

// AsideName returns the n-th name, counted from 1, that SetAside tries.
func AsideName(name string, n int) string {
	return Numbered(name+DamagedMark, n)
}

// BeforeAside returns the name that a directory had before SetAside renamed it.
func BeforeAside(name string) string { return name[:strings.LastIndex(name, DamagedMark)] }

// Numbered returns the n-th of the names name, name-2, name-3, ….
func Numbered(name string, n int) string {
	if n == 1 {
		return name
	}
	return name + "-" + strconv.Itoa(n)
}

// IsSetAside reports whether name is one that SetAside gives.
func IsSetAside(name string) bool {
	i := strings.LastIndex(name, DamagedMark)
	if i <= 0 {
		return false
	}
	n, numbered := strings.CutPrefix(name[i+len(DamagedMark):], "-")
	return numbered && n != "" && strings.Trim(n, "0123456789") == "" || !numbered && n == ""
}
