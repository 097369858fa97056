module example.com/encoder

go 1.26.0

require (
	github.com/fencesim/fencesim v0.0.0
	pgregory.net/rapid v1.3.0
)

require (
	github.com/anishathalye/porcupine v1.3.1 // indirect
	github.com/ebitengine/purego v0.11.3 // indirect
	go.yaml.in/yaml/v3 v3.0.6 // indirect
)

replace github.com/fencesim/fencesim => ../..
