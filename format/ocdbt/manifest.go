package ocdbt

import (
	"encoding/binary"
	"math"
	"time"

	"github.com/bivouac-ml/bivouac/errs"
	"github.com/bivouac-ml/bivouac/format/internal/zframe"
)

// ManifestKind says where the versions of a database are listed.
type ManifestKind uint8

// The kinds of manifest.
const (
	KindSingle   ManifestKind = 0 // in manifest.ocdbt
	KindNumbered ManifestKind = 1 // in manifest.<generation>, one a commit
)

// Config is what a database fixes when it is made.
type Config struct {
	UUID                 [16]byte
	Kind                 ManifestKind
	MaxInlineValueBytes  uint32 // longer values lie in data files; at most MaxInlineValue
	MaxDecodedNodeBytes  uint32 // nodes are split beyond this; 0: only at MaxNodeArity
	VersionTreeArityLog2 uint8  // 1 … 16
	Compression          Compression
	ZstdLevel            int32 // with CompressionZstd; 0 is the default of libzstd
}

// OrbaxConfig returns the configuration that Orbax gives to its databases:
// values up to 1024 bytes inline, nodes of up to 100 MB, zstd. The UUID should
// be random.
func OrbaxConfig(uuid [16]byte) Config {
	return Config{
		UUID:                 uuid,
		MaxInlineValueBytes:  1024,
		MaxDecodedNodeBytes:  100_000_000,
		VersionTreeArityLog2: 4,
		Compression:          CompressionZstd,
	}
}

// Validate reports a field that no reader would accept, as errs.Invalid.
func (c Config) Validate() error {
	bad := func(field, want string) error {
		return &errs.Error{Kind: errs.Invalid, Op: "ocdbt.Config", Subject: field, Want: want}
	}
	switch {
	case c.Kind > KindNumbered:
		return bad("Kind", "single or numbered")
	case c.MaxInlineValueBytes > MaxInlineValue:
		return bad("MaxInlineValueBytes", "at most "+utoa(MaxInlineValue))
	case c.VersionTreeArityLog2 < 1 || c.VersionTreeArityLog2 > 16:
		return bad("VersionTreeArityLog2", "1 to 16")
	case c.Compression > CompressionZstd:
		return bad("Compression", "none or zstd")
	case c.ZstdLevel < zframe.MinLevel || c.ZstdLevel > zframe.MaxLevel:
		return bad("ZstdLevel", "a level of libzstd")
	}
	return nil
}

// Stats counts what lies below a node or version. Sums saturate; a node that is
// shared counts once for each path to it.
type Stats struct {
	Keys          uint64 // leaf entries
	TreeBytes     uint64 // encoded nodes, the node itself included
	IndirectBytes uint64 // values outside of nodes
}

func (s *Stats) add(t Stats) {
	s.Keys = saturate(s.Keys, t.Keys)
	s.TreeBytes = saturate(s.TreeBytes, t.TreeBytes)
	s.IndirectBytes = saturate(s.IndirectBytes, t.IndirectBytes)
}

func saturate(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Node refers to a B+tree node.
type Node struct {
	File   File
	Offset int64
	Length int64
	Height int // 0 is a leaf
	Stats  Stats
}

// Version is one committed state of the database.
type Version struct {
	Generation uint64
	Root       Node // Root.Length 0: the database is empty
	CommitTime uint64
}

// Empty reports whether the version has no keys, and hence no root.
func (v Version) Empty() bool { return v.Root.Length == 0 }

// Time returns the commit time, which is stored in nanoseconds since 1970.
func (v Version) Time() time.Time { return time.Unix(0, int64(v.CommitTime)) }

// VersionNode refers to a version-tree node, which holds older versions.
type VersionNode struct {
	Generation     uint64 // the newest below
	NumGenerations uint64 // how many are below
	CommitTime     uint64 // the earliest below, in nanoseconds since 1970
	File           File
	Offset         int64
	Length         int64
	Height         int
}

// Manifest is the content of a manifest file.
type Manifest struct {
	Config   Config
	Versions []Version     // the newest ones, oldest first; none if and only if Config.Kind is KindNumbered
	Older    []VersionNode // by increasing generation
}

// NewManifest returns the manifest of a database with the one version root,
// generation 1. A zero root makes an empty database.
func NewManifest(c Config, root Node, committed time.Time) *Manifest {
	return &Manifest{Config: c, Versions: []Version{{Generation: 1, Root: root, CommitTime: uint64(committed.UnixNano())}}}
}

// Latest returns the newest version; ok is false if the manifest lists none.
func (m *Manifest) Latest() (v Version, ok bool) {
	if len(m.Versions) == 0 {
		return Version{}, false
	}
	return m.Versions[len(m.Versions)-1], true
}

// DecodeManifest decodes the manifest in the file b; name is for errors. The
// result does not alias b.
func DecodeManifest(b []byte, name string) (*Manifest, error) {
	return decodeManifest(b, name, DefaultMaxNodeBytes)
}

func decodeManifest(b []byte, name string, limit int64) (*Manifest, error) {
	at := location{file: name}
	body, err := openEnvelope(b, magicManifest, limit, at)
	if err != nil {
		return nil, err
	}
	c := &cursor{at: at, b: body}
	m := &Manifest{Config: readConfig(c)}
	if c.err == nil && m.Config.Kind == KindSingle {
		files := readFileTable(c, "", limit)
		m.Versions = readVersions(c, files)
		m.Older = readVersionNodes(c, files, true)
		m.check(c)
	}
	if err := c.done(); err != nil {
		return nil, err
	}
	return m, nil
}

func readConfig(c *cursor) Config {
	var g Config
	copy(g.UUID[:], c.bytes(16, "uuid"))
	g.Kind = ManifestKind(c.u8("manifest kind"))
	g.MaxInlineValueBytes = uint32(c.varint(math.MaxUint32, "max_inline_value_bytes"))
	g.MaxDecodedNodeBytes = uint32(c.varint(math.MaxUint32, "max_decoded_node_bytes"))
	g.VersionTreeArityLog2 = c.u8("version_tree_arity_log2")
	g.Compression = Compression(c.varint(255, "compression"))
	if g.Compression == CompressionZstd {
		if p := c.bytes(4, "zstd level"); p != nil {
			g.ZstdLevel = int32(binary.LittleEndian.Uint32(p))
		}
	}
	if c.err == nil {
		if err := g.Validate(); err != nil {
			c.fail("%v", err)
		}
	}
	return g
}

// Append encodes the manifest as the whole content of its file and appends it
// to dst.
func (m *Manifest) Append(dst []byte) ([]byte, error) {
	if err := m.Config.Validate(); err != nil {
		return nil, err
	}
	return m.append(dst, newSealer(m.Config))
}

func (m *Manifest) append(dst []byte, s sealer) ([]byte, error) {
	body, err := m.body()
	if err != nil {
		return nil, err
	}
	return append(dst, s.seal(magicManifest, body)...), nil
}

func (m *Manifest) body() ([]byte, error) {
	g := m.Config
	b := append([]byte(nil), g.UUID[:]...)
	b = append(b, byte(g.Kind))
	b = binary.AppendUvarint(b, uint64(g.MaxInlineValueBytes))
	b = binary.AppendUvarint(b, uint64(g.MaxDecodedNodeBytes))
	b = append(b, g.VersionTreeArityLog2, byte(g.Compression))
	if g.Compression == CompressionZstd {
		b = binary.LittleEndian.AppendUint32(b, uint32(g.ZstdLevel))
	}
	if g.Kind == KindNumbered {
		return b, nil
	}
	files := newFileSet(func(yield func(File) bool) {
		for _, v := range m.Versions {
			if !yield(v.Root.File) {
				return
			}
		}
		for _, n := range m.Older {
			if !yield(n.File) {
				return
			}
		}
	})
	b = files.append(b)
	b = appendVersions(b, m.Versions, files)
	b = appendVersionNodes(b, m.Older, files, true)
	// What cannot be read back must not be written.
	c := &cursor{at: location{file: ManifestName}, b: b, pos: len(b)}
	m.check(c)
	if c.err != nil {
		return nil, &errs.Error{Kind: errs.Invalid, Op: "ocdbt.Manifest.Append", Err: c.err}
	}
	return b, nil
}
