package hwreplay

func openCUDA() (Device, error)  { return nil, ErrUnavailable }
func openMetal() (Device, error) { return nil, ErrUnavailable }
