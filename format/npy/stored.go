package npy

import (
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/bivouac-ml/bivouac/errs"
)

// Stored is an array of an archive whose elements lie in the file as a tensor has
// them: neither deflated, nor in Fortran order, nor big-endian. Parts of it can
// be read where they are.
type Stored struct {
	Header
	Offset int64 // of the first element, in the archive

	head, sum uint32 // checksums of what is in front of the elements, and of the member
}

// Verify holds all elements against the checksum of the member. Parts of them have
// none.
func (s Stored) Verify(elements []byte) error {
	return sameSum(s.sum, crc32.Update(s.head, crc32.IEEETable, elements))
}

// Stored says where the elements of an array lie; ok is false if only Read can return them. Errors
// are as in Header.
func (a *Archive) Stored(name string) (s Stored, ok bool, err error) {
	m, err := a.open(name)
	if err != nil {
		return s, false, memberError(name, err)
	}
	if s.Header, err = ReadHeader(m, m.limit); err != nil {
		return s, false, memberError(name, err)
	}
	e := a.members[name]
	if e.method != methodStore || !s.Plain() || uint64(s.DataStart+s.Size()) != e.stored || e.size != e.stored {
		return s, false, nil
	}
	start, err := e.start(a.r)
	if err != nil {
		return s, false, memberError(name, err)
	}
	s.Offset, s.head, s.sum = start+s.DataStart, m.sum.Sum32(), m.want
	return s, true, nil
}

// Check reads an array as Read does and holds it against the checksum of its
// member, with little memory.
func (a *Archive) Check(name string) error {
	m, err := a.open(name)
	if err != nil {
		return memberError(name, err)
	}
	h, err := ReadHeader(m, m.limit)
	if err == nil {
		_, err = io.CopyN(io.Discard, m, h.Size())
	}
	if errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil {
		err = m.verify()
	}
	if err != nil {
		return memberError(name, err)
	}
	return nil
}

// Plain reports whether the data is as a tensor has it: in C order, and
// little-endian.
func (h Header) Plain() bool { return !h.BigEndian && (!h.Fortran || len(h.Shape) < 2) }

func sameSum(want, got uint32) error {
	if want == got {
		return nil
	}
	return &errs.Error{Kind: errs.Corrupt, Want: fmt.Sprintf("CRC-32 %08x", want), Got: fmt.Sprintf("%08x", got)}
}
