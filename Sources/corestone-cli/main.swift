import Corestone
