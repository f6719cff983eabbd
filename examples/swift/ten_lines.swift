import Corestone
print("hi")
