package archtest

import "strings"

// Keep is why a package variable may change, or give its address away.
type Keep string

// The reasons. No other variable changes after the program has started.
const (
	Registry      Keep = "registry"      // of what is in use in the process, or was entered by init functions
	Configuration Keep = "configuration" // the one of the process
	Memo          Keep = "memo"          // a result that always comes out the same, or memory for reuse
	Constant      Keep = "constant"      // read through its address, never written
	Watch         Keep = "watch"         // only with the tag bivouac_debug
)

// Variable is a package variable on the list of Variables.
type Variable struct {
	Name   string // path of the package, a dot and the name
	Keep   Keep
	Reason string
}

// Variables lists every package variable that may change, or whose address is taken.
func Variables() []Variable {
	return []Variable{
		{"codec/audio.registry", Registry, "formats of sound, entered by init"},
		{"codec.registered", Registry, "decoders of images that the core does not decode, entered by init"},
		{"codec/video.idle", Registry, "processes of ffmpeg that wait for the next image"},
		{"checkpoint/handler.global", Registry, "handlers of items; programs add theirs at the start"},
		{"checkpoint/internal/provided.process", Registry, "the engine and the codec that handlers work by, entered by init"},
		{"checkpoint/partial.sessions", Registry, "sessions that parts of this process are being saved to"},
		{"dynamic.defaultContext", Registry, "the EvalContext that calls share when their context names none, made at the first"},
		{"op.registry", Registry, "operators, entered by init"},
		{"op/augment.registered", Registry, "augmentations of programs, entered by init"},
		{"record.open", Registry, "the file of this process, opened at its first record"},
		{"reader.registry", Registry, "readers, formats and the tokenizer, entered by init"},
		{"cluster.schemes", Registry, "schemes of URLs of boards, entered by init"},
		{"reader/readertest.buckets", Registry, "buckets in memory, made by tests"},
		{"reader/readertest.numbers", Registry, "of buckets in memory"},
		{"store/object.working", Registry, "transactions that this process works on"},
		{"reader/datafs.shared", Configuration, "the cache of the process, opened at its first use"},
		{"store.schemes", Registry, "schemes of URLs, entered by init"},
		{"store.opened", Registry, "stores of URLs that this process has opened"},
		{"store/local.live", Registry, "staging names that this process is at work on"},

		{"checkpoint/options.process", Configuration, "options.Configure sets it"},

		{"codec/internal/ffmpeg.programs", Memo, "versions of ffmpeg and ffprobe, by path, time and size"},
		{"checkpoint/internal/layout.spareRoom", Memo, "memory for reuse"},
		{"checkpoint/internal/writer.castRoom", Memo, "memory for reuse"},
		{"checkpoint/internal/parity.codes", Memo, "matrices, by the number of parity blocks"},
		{"checkpoint/internal/parity.parts", Memo, "matrices of parts of a code"},
		{"checkpoint/internal/parity.rooms", Memo, "memory for reuse"},
		{"internal/fft.plans", Memo, "plans of transforms, by size"},
		{"internal/fft.wholes", Memo, "plans of inverse transforms, by size"},
		{"internal/sound.filters", Memo, "filters, by their number of lobes"},
		{"reader.plans", Memo, "how structs are decoded, by type"},
		{"format/zarr.met", Memo, "metadata of arrays, by their bytes"},
		{"internal/vfs.withoutOpenat2", Memo, "the kernel has no openat2"},

		{"format/internal/zframe.encoders", Constant, "encoders by level, each made when it is first asked for"},
		{"pipeline/graph.inputSchema", Constant, "the schema of every input, told by its address"},
		{"internal/kernel.alternating", Constant, "a table for assembly"},
		{"internal/kernel.alternatingWords", Constant, "a table for assembly"},
		{"internal/kernel.backward", Constant, "a table for assembly"},
		{"internal/kernel.coloursOf", Constant, "a table for assembly"},
		{"internal/kernel.coloursOfWords", Constant, "a table for assembly"},
		{"internal/kernel.forward", Constant, "a table for assembly"},
		{"internal/kernel.uniform", Constant, "a table for assembly"},
		{"internal/kernel/castagnoli.copied", Constant, "a table for assembly"},
		{"internal/kernel/castagnoli.narrow", Constant, "a table for assembly"},
		{"internal/kernel/castagnoli.wide", Constant, "a table for assembly"},
		{"internal/vfs/vfstest.zeros", Constant, "a block of zeros; blocks never change"},
		{"tensor.dtypes", Constant, "the rows are large, so that they are not copied"},

		{"internal/loan.loans", Watch, "memory that was taken back"},
		{"internal/loan.mu", Watch, "guards loans"},
		{"internal/loan.total", Watch, "the size of loans"},
	}
}

// CheckVariables compares the changes that a tree has with the list: a violation a change of a
// variable that is not on it, and one a row that no change needs any more.
func CheckVariables(changes []Change, allowed []Variable) []Violation {
	var out []Violation
	listed, needed := map[string]Keep{}, map[string]bool{}
	for _, v := range allowed {
		listed[v.Name] = v.Keep
	}
	for _, c := range changes {
		needed[c.Variable] = true
		if keep := listed[c.Variable]; keep == "" || keep == Constant && c.How != AddressTaken {
			pkg := c.Variable[:strings.LastIndex(c.Variable, ".")]
			out = append(out, Violation{Package: pkg, Rule: c.String() +
				": package variables do not change after the start; keep the state in a value, or give the variable a row in variables_allowed.go"})
		}
	}
	for _, v := range allowed {
		if !needed[v.Name] {
			out = append(out, Violation{Package: v.Name,
				Rule: "does not change any more; remove its row from variables_allowed.go"})
		}
	}
	return out
}
