(define (problem stacks-4)
  (:domain stacks)
  (:objects 
            slab1 slab2 slab3 slab4 slab5 slab6 slab7 slab8 slab9 slab10 slab11 slab12 slab13 slab14 - slab
            base1 base2 base3 base4 base5 - base)
  (:init (upon slab2 base1) (upon slab3 slab2) (upon slab10 slab3) (upon slab5 base2)
         (upon slab8 slab5) (upon slab11 slab8) (upon slab14 slab11) (upon slab4 base3)
         (upon slab7 slab4) (upon slab12 slab7) (upon slab1 slab12) (upon slab9 slab1)
         (upon slab6 slab9) (upon slab13 slab6) (open slab10) (open slab14) (open slab13)
         (open base4) (open base5) (unhooked))
  (:goal (and (upon slab7 base2) (upon slab1 slab7) (upon slab12 slab1) (upon slab14 base3)
              (upon slab6 slab14) (upon slab13 slab6) (upon slab5 slab13) (upon slab9 base4)
              (upon slab4 slab9) (upon slab8 slab4) (upon slab3 slab8) (upon slab10 base5)
              (upon slab11 slab10) (upon slab2 slab11))))
