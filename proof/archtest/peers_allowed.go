package archtest

// PeersAllowed lists the names of peers and devices in engines and below, each with its reason. The
// list gets shorter, not longer.
func PeersAllowed() []Named {
	return []Named{
		{"checkpoint/internal/orbax", "the format is Orbax's"},
		{"format/ocdbt: OrbaxConfig", "the settings of the format as Orbax writes it"},
		{"tensor: DType.DALI", "types have names in several formats: numpy, zarr, safetensors and DALI"},
		{"tensor: FromDALI", "as above"},

		{"checkpoint/integrity: Report.Orbax", "moves next, to compat/orbax"},
		{"checkpoint/options: Options.PyTree", "moves next"},
		{"checkpoint/options: Orbax", "moves next, to compat/orbax"},
		{"checkpoint/options: PyTree", "moves next"},
		{"checkpoint/options: PyTree.*", "moves next"},
	}
}

// PeerLiterals returns how many string literals of each package have the name of a peer or device:
// texts that are written to files, states and hashes, arguments of schemas, and messages. Lower a
// number when one goes.
func PeerLiterals() map[string]int {
	return map[string]int{
		"checkpoint":                 2,
		"checkpoint/integrity":       16,
		"checkpoint/handler":         4,
		"checkpoint/internal/layout": 10,
		"checkpoint/internal/orbax":  11,
		"checkpoint/internal/parts":  1,
		"checkpoint/options":         12,
		"format/dcp":                 9,  // the names that its pickles have
		"format/pt":                  22, // likewise
		"op":                         2,
		"op/decoders":                2,
		"op/generic":                 3,
		"op/random":                  2,
		"pipeline":                   8,
		"reader/internal/loaderargs": 5,
		"store":                      1,
		"store/storetest":            5,
	}
}
