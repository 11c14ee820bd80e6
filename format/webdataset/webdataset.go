package webdataset

import (
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/tarball"
	"github.com/bivouac-ml/bivouac/internal/enum"
)

// Rules say how names become samples, after the program that does so.
type Rules uint8

// The rules. All take regular files alone.
const (
	// Direct is the reader of DALI without an index. A file without a dot is a sample of its own,
	// whose component has the whole name. A file whose name begins with a dot is left out if it lies
	// in no folder, and is a component of a sample with the key of the folder if it does.
	Direct Rules = iota
	// Indexed is wds2idx, the program that makes indexes for DALI. It leaves out all files whose names
	// begin with a dot. The last letter of a name without a dot does not count as part of the key, so
	// a file whose name is one letter is left out.
	Indexed
	// Packaged is the package webdataset. Components are in lower case; files without a dot, files
	// whose names begin with a dot, and names such as __meta__ are left out. A component that comes
	// twice in a sample is an error. An archive with a header that is damaged ends there.
	Packaged
)

var ruleNames = []string{"direct", "indexed", "packaged"}

// String returns the name of the rules.
func (r Rules) String() string { return enum.Name(r, ruleNames, "unknown") }

// Component is a file of a sample.
type Component struct {
	Name         string // such as "jpg"
	File         string // the name in the archive, or "" if an index does not have it
	Offset, Size int64  // of the data
}

// Sample is the files of an archive that belong together.
type Sample struct {
	Key        string
	Components []Component
}

// Samples calls visit for each sample of an archive of size bytes, in their order, and returns the
// error of visit if it has one. The components are valid during the call. It returns the errors
// of tarball.Scan; the files before the damage are not delivered as a sample.
func Samples(r io.ReaderAt, size int64, rules Rules, visit func(Sample) error) error {
	var s Sample
	err := tarball.Scan(r, size, tarball.Options{Lenient: rules == Packaged}, func(m tarball.Member) error {
		if !m.Regular() {
			if m.Sparse {
				return sparse(m.Name)
			}
			return nil
		}
		key, name, ok := rules.Split(m.Name)
		if !ok {
			return nil
		}
		if key != s.Key && len(s.Components) > 0 {
			if err := visit(s); err != nil {
				return err
			}
			s.Components = s.Components[:0]
		}
		if rules == Packaged {
			if err := s.once(name, m.Name); err != nil {
				return err
			}
		}
		s.Key = key
		s.Components = append(s.Components, Component{name, m.Name, m.Data, m.Size})
		return nil
	})
	if err == nil && len(s.Components) > 0 {
		err = visit(s)
	}
	return err
}

// once returns an error if the sample has a component of that name.
func (s *Sample) once(name, file string) error {
	for _, c := range s.Components {
		if c.Name == name {
			return &errs.Error{Kind: errs.Invalid, Op: "webdataset",
				Subject: "sample " + strconv.Quote(s.Key) + ", component " + strconv.Quote(name),
				Want:    "one file", Got: fmt.Sprintf("%q and %q", c.File,
					file), Remedy: "write the archive with one file a component"}
		}
	}
	return nil
}

func sparse(name string) error {
	return &errs.Error{Kind: errs.Unsupported, Op: "webdataset", Subject: strconv.Quote(name),
		Want: "a file whose bytes lie in the archive",
		Got:  "a sparse file", Remedy: "write the archive without --sparse"}
}

// Split returns the key of the sample and the name of the component that a file of an archive
// belongs to. ok is false if the file belongs to no sample.
func (r Rules) Split(file string) (key, name string, ok bool) {
	base := strings.LastIndexByte(file, '/') + 1
	dot := strings.IndexByte(file[base:], '.')
	if r == Packaged {
		if dot <= 0 || meta(file) {
			return "", "", false
		}
		return file[:base+dot], strings.ToLower(file[base+dot+1:]), true
	}
	switch {
	case dot >= 0:
		key, name = file[:base+dot], file[base+dot+1:]
	case r == Direct:
		key, name = file, file
	case file != "":
		key, name = file[:len(file)-1], file // as Python slices with -1
	}
	return key, name, key != "" && (r == Direct || !strings.HasSuffix(key, "/"))
}

// meta reports whether a file is about the data set, for the package webdataset.
func meta(file string) bool {
	return !strings.Contains(file, "/") && strings.HasPrefix(file, "__") && strings.HasSuffix(file, "__")
}
