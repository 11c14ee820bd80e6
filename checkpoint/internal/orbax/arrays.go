package orbax

import "encoding/json"

// ParseArrays reads array_metadatas/process_N and returns, for each parameter
// that holds a typed PRNG key, the name of the key's implementation.
func ParseArrays(file string, b []byte) (map[string]string, error) {
	var d struct {
		Arrays []struct {
			Array struct {
				Param string `json:"param_name"`
				Ext   *struct {
					Impl string `json:"random_key_impl"`
				} `json:"ext_metadata"`
			} `json:"array_metadata"`
		} `json:"array_metadatas"`
	}
	if err := json.Unmarshal(b, &d); err != nil {
		return nil, corrupt(ArraysDir+"/"+file, "%v", err)
	}
	impls := map[string]string{}
	for _, a := range d.Arrays {
		if a.Array.Ext != nil && a.Array.Ext.Impl != "" {
			impls[a.Array.Param] = a.Array.Ext.Impl
		}
	}
	return impls, nil
}
