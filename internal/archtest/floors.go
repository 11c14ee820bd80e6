package archtest

// Module is the law of this module: the table of docs/architecture.md.
func Module() Rules {
	return Rules{
		Module: "github.com/bivouac-ml/bivouac",
		Floors: []Floor{
			{Name: "internal", Rows: []Row{
				{Packages: "internal/kernel/...", Modules: []string{"golang.org/x/sys"}},
				{Packages: "internal/crc", Beside: []string{"internal/kernel/..."}},
				{Packages: "internal/arena", Beside: []string{"errs"}, Modules: []string{"golang.org/x/sys"}},
				{Packages: "errs"}, // pure, and below everything that can fail
			}},
			{
				Name: "pure",
				Rows: []Row{
					{Packages: "tensor", Beside: []string{}},
					{Packages: "tree", Beside: []string{"tensor"}},
					{Packages: "rng"},
					{Packages: "rng/libstdcxx", Beside: []string{"rng"}},
					{Packages: "rng/numpy", Beside: []string{"rng/libstdcxx"}},
					{Packages: "order", Beside: []string{"rng"}},
					{Packages: "state", Beside: []string{"order"}},
					{Packages: "stream", Beside: []string{"state"}},
				},
				Avoids:     []string{"os", "os/exec", "net", "net/http", "syscall", "time", "math/rand", "math/rand/v2"},
				Sequential: true,
			},
			{Name: "storage", Rows: []Row{
				{Packages: "internal/vfs/...", Beside: []string{"internal/vfs/..."}, Modules: []string{"golang.org/x/sys"}},
				{Packages: "store", Beside: []string{}},
				{Packages: "store/local", Beside: []string{"store", "internal/vfs/..."}, Modules: []string{"golang.org/x/sys"}},
				{Packages: "store/storetest", Beside: []string{"store", "internal/vfs/..."}},
			}},
			{Name: "formats", Rows: []Row{
				{Packages: "format/...", Beside: []string{"format/..."}, Modules: []string{"github.com/klauspost/compress", "github.com/pierrec/lz4/v4"}},
				{Packages: "codec/...", Beside: []string{"codec/...", "codec"}, Modules: []string{"golang.org/x/image", "golang.org/x/sys"}},
			}},
			{Name: "machinery", Rows: []Row{
				{Packages: "op", Beside: []string{}},
				{Packages: "op/...", Beside: []string{"op", "op/internal/..."}},
				{Packages: "op/internal/...", Beside: []string{"op", "op/internal/..."}},
				{Packages: "reader/...", Beside: []string{"op", "reader"}},
				{Packages: "internal/flow"},
				{Packages: "internal/graph", Beside: []string{"op", "reader"}},
				{Packages: "internal/exec", Beside: []string{"op", "op/...", "reader", "internal/graph", "internal/flow"}, Modules: []string{"golang.org/x/sys"}},
				{Packages: "checkpoint/internal/...", Beside: []string{"checkpoint/internal/...", "checkpoint/handler"}},
				{Packages: "checkpoint/handler", Beside: []string{"checkpoint/internal/orbax"}},
				{Packages: "checkpoint/handler/protohandler", Beside: []string{"checkpoint/handler"}, Modules: []string{"google.golang.org/protobuf"}},
				{Packages: "checkpoint/options", Beside: []string{"checkpoint/handler"}, Modules: []string{"go.yaml.in/yaml/v3"}},
				{Packages: "checkpoint/internal/plan", Beside: []string{"checkpoint/options", "checkpoint/internal/image", "checkpoint/internal/layout"}},
				{Packages: "checkpoint/internal/saving", Beside: []string{"checkpoint/options", "checkpoint/internal/..."}},
				{Packages: "checkpoint/internal/manifest", Beside: []string{"checkpoint/internal/..."}, Modules: []string{"github.com/zeebo/xxh3"}},
				{Packages: "checkpoint/internal/image", Beside: []string{"checkpoint/internal/...", "checkpoint/handler"}, Modules: []string{"github.com/zeebo/xxh3"}},
			}},
			{Name: "engines", Rows: []Row{
				{Packages: "checkpoint"},
				{Packages: "checkpoint/training", Beside: []string{"checkpoint"}},
				{Packages: "checkpoint/partial", Beside: []string{"checkpoint"}},
				{Packages: "checkpoint/surgery", Beside: []string{"checkpoint"}, Modules: []string{"go.yaml.in/yaml/v3"}},
				{Packages: "pipeline"},
				{Packages: "dynamic", Beside: []string{"pipeline"}},
				{Packages: "dynamic/checkpoint", Beside: []string{"dynamic", "dynamic/random"}},
				{Packages: "dynamic/random", Beside: []string{"dynamic"}},
				{Packages: "dynamic/readers", Beside: []string{"dynamic", "dynamic/random", "dynamic/checkpoint", "pipeline"}},
				{Packages: "loader"},
				{Packages: "loader/nodes", Beside: []string{"loader"}},
				{Packages: "compat/..."},
				{Packages: "compat/dali", Beside: []string{"compat/dali/stateproto", "compat/dali/pipeproto", "pipeline", "dynamic/readers"}},
				{Packages: "compat/dali/internal/wire", Modules: []string{"google.golang.org/protobuf"}},
				{Packages: "compat/dali/pipeproto", Beside: []string{"compat/dali/internal/wire"}, Modules: []string{"go.yaml.in/yaml/v3"}},
				{Packages: "compat/dali/stateproto", Beside: []string{"compat/dali/internal/wire"}},
				{Packages: "compat/grain"},
				{Packages: "compat/streaming"},
				{Packages: "compat/torchdata", Beside: []string{"compat/torchdata/internal/leap"}},
				{Packages: "compat/torchdata/internal/leap"},
			}},
			{Name: "generated", Rows: []Row{
				{Packages: "pipeline/fn"},
				{Packages: "dynamic/fn"},
			}},
			{Name: "job", Rows: []Row{
				{Packages: "."},
			}},
			{Name: "faces", Rows: []Row{
				{Packages: "examples/...", Beside: []string{"examples/..."}},
				{Packages: "serve/..."},
				{Packages: "cmd/bivouac", Beside: []string{"examples/...", "serve/..."}, Modules: []string{
					"github.com/spf13/cobra", "github.com/spf13/pflag", "github.com/vbauerster/mpb/v8", "golang.org/x/term", "golang.org/x/sys"}},
			}},
			{Name: "proof", Rows: []Row{ // nothing imports these but tests
				{Packages: "internal/archtest"},
				{Packages: "bench", Beside: []string{"bench/internal/..."}},
				{Packages: "bench/checkpoint", Beside: []string{"bench/internal/..."}},
				{Packages: "bench/dynamic", Beside: []string{"bench/internal/...", "internal/photos"}},
				{Packages: "bench/pipeline", Beside: []string{"bench/internal/...", "internal/photos"}},
				{Packages: "bench/internal/child"},
				{Packages: "bench/internal/turns", Beside: []string{"bench/internal/child"}},
				{Packages: "bench/internal/disk", Modules: []string{"golang.org/x/sys"}},
				{Packages: "internal/conform/...", Beside: []string{"internal/dalivec"}, Modules: []string{"google.golang.org/protobuf"}},
				{Packages: "internal/crash/..."},
				{Packages: "internal/crewtest"},
				{Packages: "internal/dalivec"},
				{Packages: "internal/interop", Beside: []string{"internal/crewtest"}},
				{Packages: "internal/mistake"},
				{Packages: "internal/photos"},
			}},
		},
		Restrictions: []Restriction{
			{
				Package: "internal/vfs/...",
				To:      []string{"store/...", "internal/crash/..."},
				Reason:  "the file system belongs to the stores",
			},
			{
				Package: "compat/...",
				To:      []string{"cmd/...", "serve/...", "examples/...", "internal/conform/...", "internal/interop"},
				Reason:  "engines are handed the values of compat, they do not import it",
			},
			{
				Package: "store/local",
				To:      []string{".", "checkpoint/...", "dynamic/checkpoint", "cmd/...", "internal/crash/..."},
				Reason:  "only who opens a directory by name picks the store",
			},
			{
				Package: "internal/exec",
				To:      []string{"pipeline", "dynamic/...", "loader"},
				Reason:  "the executor has an engine in front of it",
			},
		},
		Heavy: []string{
			"github.com/spf13/cobra", "github.com/vbauerster/mpb",
			"go.etcd.io", "go.uber.org/zap", "google.golang.org/grpc",
			"cloud.google.com", "github.com/aws", "github.com/Azure", "github.com/minio",
			"github.com/apache/arrow-go",
		},
		Command: []string{"cmd/...", "serve/..."},
	}
}
