//go:build !unix

package blocks

import (
	"errors"
	"os"

	"github.com/bivouac-ml/bivouac/errs"
)

const headerBytes = 64

var (
	errLocked = errors.New("another process gets the block")
	errNoLock = errors.New("the file of the block cannot be made")
)

// disk is not there: this system has no locks that all processes share.
type disk struct{}

func openDisk(dir string, _ int64) (*disk, error) {
	return nil, &errs.Error{Kind: errs.Unsupported, Op: "blocks.Open", Subject: dir, Want: "a system with flock",
		Remedy: "leave out the directory: then blocks are kept in memory"}
}

func (d *disk) close() error                         { return nil }
func (d *disk) path(place) string                    { return "" }
func (d *disk) open(place, []byte) (*os.File, error) { return nil, errNoLock }
func (d *disk) lock(place) (*os.File, error)         { return nil, errNoLock }
func (d *disk) unlock(*os.File, place)               {}
func (d *disk) keep(*os.File, place, []byte) error   { return errNoLock }
func openLimit() int                                 { return 1024 }
