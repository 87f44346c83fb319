def main(*, short):
    return True
